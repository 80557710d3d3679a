//! Short storms; `make chaos` has longer ones, and measures.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

/// The machine may be busy. Only medians and 99th percentiles of many seconds show that a side hangs.
const SLACK: &str = "40";

#[test]
fn storms_stay_within_their_bounds() {
    let out = tempfile::tempdir().unwrap();
    for storm in ["app hangs", "new side gone in a storm", "slow clients"] {
        let mut chaos = Command::new(env!("CARGO_BIN_EXE_chaos"));
        chaos.args(["--quick", "--slack", SLACK, "--only", storm, "--out"]);
        let output = chaos.arg(out.path().join("chaos.json")).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
    }
}
