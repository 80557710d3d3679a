//! A quick check of the rungs in other languages; `nightly_contract.rs` runs them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

use loadtest::servers::repository;

#[test]
fn every_file_of_the_rungs_parses() {
    let python = repository().join("target/tools/python/bin/python");
    let mut parse = Command::new(python);
    let output = parse.arg(repository().join("examples/rungs/test/parse.py")).output();
    let output = output.expect("run make setup first");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
