//! Programs that were written for other QR services get what they ask for from this one, by their published clients.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::process::Command;

use stack::settings::repository;

#[test]
fn clients_of_other_services_are_answered() {
    let mut command = Command::new(support::built("stack"));
    command.args(["with", "--", "node", "--test", "qr-service/api/clients/clients.test.js"]);
    command.env("QR_COMPAT", "goqr,quickchart,google").current_dir(repository());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
