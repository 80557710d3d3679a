//! A short `make chaos`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

#[test]
fn clients_notice_no_fault_and_ramp_rolls_wrong_pictures_back() {
    let out = tempfile::tempdir().unwrap();
    let mut chaos = Command::new(env!("CARGO_BIN_EXE_chaos"));
    chaos
        .args(["--quick", "--faults-only", "--rate", "30", "--out"])
        .arg(out.path().join("chaos.json"));
    let output = chaos.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn a_fault_that_does_not_exist_is_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_chaos")).args(["--only", "typo"]).output();
    let output = output.unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("\"typo\"") && said.contains("qr-service killed"), "{said}");
}
