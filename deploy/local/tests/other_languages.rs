//! The tests that are not in Rust: of the legacy app, the pages in Chromium, and the bindings. `make bindings`
//! builds what the last of them load.

#![allow(clippy::print_stdout, reason = "a failure shows what the other runner said")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::process::Command;

use stack::settings::repository;
use stack::{Options, Share, Stack};

/// Runs a command in the repository's root; it has to succeed.
fn pass(program: &str, arguments: &[&str], stack: Option<&Stack>) {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(repository());
    // Where `make bindings PROFILE=dev` puts the module.
    command.env("PYTHONPATH", repository().join("target/python"));
    if let Some(stack) = stack {
        command.envs(stack.environment());
    }
    let output = command.output().unwrap_or_else(|error| panic!("{program}: {error}"));
    println!("{}", String::from_utf8_lossy(&output.stdout));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {}: {said}", arguments.join(" "));
}

fn pass_in_node(files: &[&str], stack: Option<&Stack>) {
    pass("node", &[&["--test"], files].concat(), stack);
}

#[test]
fn the_legacy_app() {
    pass("npm", &["--prefix", "legacy-node", "test"], None);
}

#[test]
fn the_live_pages_modules() {
    pass("npm", &["--prefix", "dashboards/live", "test"], None);
}

#[test]
fn the_live_page_in_a_browser() {
    let (split, mirror) = (Share::percent(50).unwrap(), Share::percent(25).unwrap());
    let stack = support::start(&Options { split, mirror, ..Options::default() });
    pass_in_node(&["dashboards/live/test/browser.test.js"], Some(&stack));
}

#[test]
fn the_apps_page_in_a_browser_behind_the_proxy() {
    let stack = support::start(&Options::default());
    pass_in_node(&["legacy-node/test/browser.test.js"], Some(&stack));
}

#[test]
fn the_playground_in_a_browser() {
    let stack = support::start(&Options::default());
    pass_in_node(&["qr-service/api/page/browser.test.js"], Some(&stack));
}

#[test]
fn the_addon() {
    pass("npm", &["--prefix", "qr-service/bindings/node", "test"], None);
}

#[test]
fn the_wasm_modules() {
    pass("sh", &["-c", "node --test qr-service/bindings/wasm/test/*.test.mjs"], None);
}

#[test]
fn the_python_module() {
    let test = "qr-service/bindings/python/test";
    let pytest = "target/tools/wheel/bin/pytest";
    pass(pytest, &["--quiet", "-p", "no:cacheprovider", test], None);
}
