//! The table of floors, with rows that need no build.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn floors(only: &str, out: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_floors"));
    command.args(["--rounds", "1", "--seconds", "1", "--connections", "4", "--only", only]);
    command.arg("--out").arg(out).output().unwrap()
}

#[test]
fn rows_have_what_wrk_counted_and_answer_the_same() {
    let out = tempfile::tempdir().unwrap();
    let output = floors("node,nginx", out.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let json = std::fs::read_to_string(out.path().join("floors.json")).unwrap();
    let report: Value = serde_json::from_str(&json).unwrap();
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        let figures = &row["figures"][0];
        for figure in ["requests_per_second", "p99_seconds", "busy"] {
            assert!(figures[figure][1].as_f64().unwrap() > 0.0, "{row}");
        }
        assert!(row["answer"]["bytes"].as_u64().unwrap() > 420, "{row}");
    }
    let table = std::fs::read_to_string(out.path().join("floors.md")).unwrap();
    assert!(table.contains("| 4 connections |") && table.contains("\n| nginx | "), "{table}");
}

#[test]
fn an_unknown_row_is_named() {
    let out = tempfile::tempdir().unwrap();
    let output = floors("apache", out.path());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && said.contains("apache") && said.contains("net/http"),
        "{said}"
    );
}
