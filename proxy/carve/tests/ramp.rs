//! `carve ramp` on a real stack, with real traffic, shadow and Prometheus.

use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use carve::local::{Share, Stack};

use crate::support;
use crate::support::{EndsLoad, built, get, holds_within, said, share};

/// A stack whose old side serves everything, and which mirrors everything, with this program as qr-service.
fn start(qr_service: &str) -> Stack {
    support::start(|it| {
        (it.wanted.share, it.wanted.mirror) = (Some(Share::NONE), Some(Share::ALL));
        support::set(it, "qr_service", built(qr_service).to_str().unwrap());
    })
}

/// Runs `carve ramp` under load and panics if a request fails. `patience` is how long a step waits for data after
/// `hold`; on a busy machine data comes late.
fn run_under_load(stack: &Stack, hold: &str, patience: &str) -> Output {
    let gates = stack.gates_for_short_steps().unwrap();
    // The shadow compares ten answers per second, so a hundred would take ten seconds per step.
    let text = std::fs::read_to_string(&gates).unwrap();
    std::fs::write(&gates, text.replace("limit = 100", "limit = 20")).unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0.. {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                // nginx closes idle connections as it reloads, so each request uses a new connection.
                let url = format!("{}/qrcode?text=ramp-{number}", stack.url());
                assert_eq!(get(&url, &[]).status, 200);
                thread::sleep(Duration::from_millis(5));
            }
        });
        let mut ramp = Command::new(built("carve"));
        ramp.args(["ramp", "--steps", "50,100", "--every", "500ms", "--hold", hold]);
        ramp.args(["--patience", patience, "--gates"]);
        let _ends_load = EndsLoad(&over);
        ramp.arg(gates).envs(stack.environment()).output().unwrap()
    })
}

#[test]
fn the_real_services_pass_every_gate() {
    let stack = start("qr-service");
    let output = run_under_load(&stack, "8s", "60s");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(share(&stack, "qrcode"), "100");
    assert_eq!(get(&format!("{}/qrcode?text=a", stack.url()), &[]).served_by(), "qr-service");
}

#[test]
fn wrong_pictures_are_rolled_back() {
    let stack = start("examples/wrong_pictures");
    let output = run_under_load(&stack, "60s", "60s");
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("rolled back: mismatches ("), "{}", said(&output));
    assert_eq!(share(&stack, "qrcode"), "0");
    let answer = || get(&format!("{}/qrcode?text=a", stack.url()), &[]);
    assert!(holds_within(Duration::from_secs(5), || answer().served_by() == "legacy-node"));
}
