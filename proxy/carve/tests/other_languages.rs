//! The tests that are not in Rust: of the legacy app, of the pages in Chromium, and of the bindings. `make bindings
//! PROFILE=dev` builds what the tests of the bindings load.

#![allow(clippy::print_stdout, reason = "a failure shows what the other runner said")]
use std::process::Command;

use carve::local::{Settings, Share};
use service_kit::testing::repository;

use crate::support;

type Environment = Vec<(String, String)>;

/// Runs a command in the repository's root; panics if it fails.
fn pass(program: &str, arguments: &[&str], environment: Environment) {
    let mut command = Command::new(program);
    command.args(arguments).envs(environment).current_dir(repository());
    let output = command.output().unwrap_or_else(|error| panic!("{program}: {error}"));
    println!("{}", String::from_utf8_lossy(&output.stdout));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {}: {said}", arguments.join(" "));
}

/// Runs a file of Node's tests against a stack.
fn pass_on_a_stack(file: &str, change: impl FnOnce(&mut Settings), more: Environment) {
    let stack = support::start(change);
    let environment = stack.environment().into_iter().chain(more).collect();
    pass("node", &["--test", file], environment);
}

fn live_page(more: Environment) {
    let (split, mirror) = (Share::percent(50).unwrap(), Share::percent(25).unwrap());
    let change =
        |it: &mut Settings| (it.wanted.share, it.wanted.mirror) = (Some(split), Some(mirror));
    pass_on_a_stack("dashboards/live/test/browser.test.js", change, more);
}

#[test]
fn the_legacy_app() {
    pass("npm", &["--prefix", "legacy-node", "test"], vec![]);
}

#[test]
fn the_live_pages_modules() {
    pass("npm", &["--prefix", "dashboards/live", "test"], vec![]);
}

#[test]
fn the_live_page_in_a_browser() {
    live_page(vec![]);
}

fn playground(more: Environment) {
    pass_on_a_stack("qr-service/api/page/browser.test.js", |_| {}, more);
}

#[test]
fn the_playground_in_a_browser() {
    playground(vec![]);
}

/// What `make test-all PART=bindings` adds: every picture decoded, threads, Wasm in a browser.
#[test]
fn the_addon() {
    let files = "qr-service/bindings/node/test/{draw,errors,package,qrcode}.test.mjs";
    pass("bash", &["-c", &format!("node --test {files}")], vec![]);
}

#[test]
fn the_wasm_modules() {
    let files = "qr-service/bindings/wasm/test/{draw,errors,types}.test.mjs";
    pass("bash", &["-c", &format!("node --test {files}")], vec![]);
}

#[test]
fn the_python_module() {
    let tests = "qr-service/bindings/python/test";
    let module = repository().join("target/python").display().to_string();
    pass(
        "target/tools/wheel/bin/pytest",
        &["--quiet", "-p", "no:cacheprovider", tests],
        vec![("PYTHONPATH".to_owned(), module)],
    );
}

/// Only `make test-all` runs these.
mod nightly {
    use super::*;

    fn nightly() -> Environment {
        vec![("NIGHTLY".to_owned(), "1".to_owned())]
    }

    #[test]
    fn the_live_page_in_a_browser_through_restarts_and_stops() {
        live_page(nightly());
    }

    #[test]
    fn the_playground_and_its_documentation_in_every_look() {
        playground(nightly());
    }

    #[test]
    fn files_dropped_on_the_apps_page() {
        let whole = nightly();
        pass("node", &["--test", "legacy-node/test/files.test.js"], whole);
    }

    #[test]
    fn the_apps_page_in_a_browser_behind_the_proxy() {
        pass_on_a_stack("legacy-node/test/browser.test.js", |_| {}, vec![]);
    }

    /// Published clients of other QR services.
    #[test]
    fn clients_of_other_services_are_answered() {
        let carve = support::built("carve").display().to_string();
        let clients = ["with", "--", "node", "--test", "qr-service/api/clients/clients.test.js"];
        let compat = ("QR_COMPAT", "goqr,quickchart,google".to_owned());
        let parts = ("STACK_PARTS", support::demonstration().display().to_string());
        let environment = [compat, parts].map(|(name, value)| (name.to_owned(), value));
        pass(&carve, &clients, environment.to_vec());
    }
}
