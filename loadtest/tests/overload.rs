//! Short days that go wrong; `make chaos` has longer ones.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use loadtest::overload::{PARTS, Plan};

fn qr_service() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let file = test.parent().and_then(Path::parent).unwrap().join("qr-service");
    assert!(file.is_file(), "{}: cargo build --workspace --all-targets first", file.display());
    file
}

/// Each part that loads the machine has it to itself.
static TURN: Mutex<()> = Mutex::new(());

fn play_alone(name: &str) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    play(name);
}

fn play(name: &str) {
    let part = PARTS.iter().find(|part| part.name == name).unwrap();
    let plan = Plan {
        fault: Duration::from_secs(8),
        storm: 1000.0,
        slow: 10_000,
        // `make chaos` measures. Here a machine may be busy with anything, and only medians and a 99th
        // percentile of many seconds show that a side hangs.
        slack: 40.0,
        qr_service: qr_service(),
    };
    let report = (part.play)(&plan).unwrap();
    for (name, value) in &report.figures {
        anstream::println!("{name}: {value:.1}");
    }
    assert!(report.complaints.is_empty(), "{:#?}", report.complaints);
}

#[test]
fn a_hung_old_side_is_rescued_as_fast_as_a_dead_one() {
    play_alone("old side hangs");
}

#[test]
fn pages_of_a_hung_app_fail_at_once() {
    // Twenty pages a second.
    play("app hangs: pages");
}

#[test]
fn a_new_side_that_is_gone_leaves_the_apps_pages_alone() {
    play_alone("new side gone in a storm");
}

#[test]
fn ten_thousand_slow_clients_delay_nobody() {
    play_alone("slow clients");
}
