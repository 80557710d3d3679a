//! The table of floors, with the rows that are built and installed here.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn floors(arguments: &[&str], out: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_floors"));
    command.args(["--rounds", "1", "--seconds", "1", "--connections", "4"]);
    command.args(arguments).arg("--out").arg(out).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn rows_have_what_wrk_counted_in_their_column() {
    let out = tempfile::tempdir().unwrap();
    let wanted = ["--only", "node,nginx", "--columns", "documented,documented-timeouts"];
    let output = floors(&wanted, out.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json = std::fs::read_to_string(out.path().join("floors.json")).unwrap();
    let report: Value = serde_json::from_str(&json).unwrap();
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        for column in row["columns"].as_array().unwrap() {
            let figures = &column["figures"][0];
            for figure in ["requests_per_second", "p99_seconds", "busy", "wrk_busy"] {
                assert!(figures[figure][1].as_f64().unwrap() > 0.0, "{figure}: {row}");
            }
            assert_eq!(figures["runs"], 1);
            assert!(column["answer"]["bytes"].as_u64().unwrap() > 420, "{row}");
        }
    }
    let table = std::fs::read_to_string(out.path().join("floors.md")).unwrap();
    // nginx' timeouts cannot be turned off.
    assert!(table.contains("### 4 connections") && table.contains("\n| nginx |  | "), "{table}");
    let page = std::fs::read_to_string(out.path().join("floors.html")).unwrap();
    assert!(page.contains("<td>nginx</td><td></td>"), "{page}");
}

#[test]
fn every_row_that_is_here_answers_the_same() {
    let out = tempfile::tempdir().unwrap();
    let output = floors(&["--check"], out.path());
    let said = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let same =
        |name: &str| said.lines().any(|line| line.starts_with(name) && line.ends_with("the same"));
    assert!(same("node  ") && same("haproxy  "), "{said}");
    let ours = said.lines().filter(|line| line.starts_with("service-kit  "));
    assert_eq!(ours.filter(|line| line.ends_with("the same")).count(), 2, "{said}");
    // Its head has two lines of its own, and the row says why.
    assert!(said.contains("server: nginx"), "{said}");
}

#[test]
fn an_unknown_row_or_column_is_named() {
    let out = tempfile::tempdir().unwrap();
    let output = floors(&["--only", "apache"], out.path());
    let said = text(&output.stderr);
    assert!(
        !output.status.success() && said.contains("apache") && said.contains("net/http"),
        "{said}"
    );
    let output = floors(&["--columns", "fast"], out.path());
    let said = text(&output.stderr);
    assert!(!output.status.success() && said.contains("fast") && said.contains("tuned"), "{said}");
}

#[test]
fn servers_and_wrk_share_cores_only_if_they_are_told_to() {
    let out = tempfile::tempdir().unwrap();
    let cores = ["--only", "node", "--server-core", "0", "--load-core", "0", "--columns", "tuned"];
    let output = floors(&cores, out.path());
    assert!(!output.status.success() && text(&output.stderr).contains("--shared"));
    let output = floors(&[&cores[..], &["--shared"]].concat(), out.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = std::fs::read_to_string(out.path().join("floors.md")).unwrap();
    assert!(table.contains("own CPU time"), "{table}");
}
