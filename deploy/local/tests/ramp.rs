//! The ramp on a real stack: real traffic, a real shadow, a real Prometheus.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use stack::{Options, Part, Share, Stack};
use support::{client, eventually, get, qr_service, try_get};

/// A binary of the same build.
fn built(name: &str) -> PathBuf {
    let file = qr_service().with_file_name(name);
    assert!(file.is_file(), "{}: cargo build --workspace --all-targets first", file.display());
    file
}

/// Nothing on Rust, everything mirrored.
fn start(qr_service: &std::path::Path) -> Stack {
    let options = Options { split: Share::NONE, mirror: Share::ALL, ..Options::default() };
    Stack::start(qr_service, &options).unwrap()
}

/// `ramp run`, with a few requests a second meanwhile; each has to be answered.
fn run_under_load(stack: &Stack, hold: &str) -> Output {
    let gates = stack.settings().run_dir.join("gates.toml");
    let own = std::fs::read_to_string(stack.settings().root.join("proxy/ramp/gates.toml")).unwrap();
    // The shadow compares ten in a second, so a hundred would take ten seconds a step.
    let own = own.replace("limit = 100", "limit = 20");
    // Of so few answers a single stall of the machine is the 99th percentile.
    let lenient = own.replace("judge = \"at the end\"", "judge = \"at the end\"\nmargin = 2.5");
    assert_ne!(lenient, own);
    std::fs::write(&gates, lenient).unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0.. {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                // A reload may close an idle connection, so each has its own.
                let url = format!("{}/qrcode?text=ramp-{number}", stack.url());
                assert_eq!(try_get(&client(), &url, &[]).unwrap().status, 200);
                thread::sleep(Duration::from_millis(5));
            }
        });
        let mut ramp = Command::new(built("ramp"));
        ramp.args(["run", "--steps", "50,100", "--every", "500ms", "--hold", hold, "--gates"]);
        let output = ramp.arg(gates).envs(stack.environment()).output();
        over.store(true, Ordering::Relaxed);
        output.unwrap()
    })
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

fn share(stack: &Stack) -> String {
    ramp::current(&stack.settings().nginx_dir()).unwrap().share_percent.to_string()
}

#[test]
fn the_real_services_pass_every_gate() {
    let stack = start(&qr_service());
    let output = run_under_load(&stack, "8s");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(share(&stack), "100");
    assert_eq!(get(&format!("{}/qrcode?text=a", stack.url()), &[]).served_by(), "qr-service");
}

#[test]
fn wrong_pictures_are_taken_back() {
    let stack = start(&built("examples/wrong_pictures"));
    let output = run_under_load(&stack, "60s");
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("rolled back: mismatches ("), "{}", said(&output));
    assert_eq!(share(&stack), "0");
    let answer = || get(&format!("{}/qrcode?text=a", stack.url()), &[]);
    assert!(eventually(Duration::from_secs(5), || answer().served_by() == "old-node"));
}

#[test]
fn without_the_shadow_it_stays_at_its_step() {
    let stack = start(&qr_service());
    stack.stop_part(Part::Shadow).unwrap();
    let output = run_under_load(&stack, "3s");
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert_eq!(share(&stack), "50");
}
