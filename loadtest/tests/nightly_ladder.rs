//! A quick ladder with a row or two of each group, and ladders with a broken row.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use qr_core::{Level, Raster, encode, write_png};
use serde_json::Value;

/// Runs a quick ladder; the servers inherit `env`.
fn ladder(out: &Path, args: &[&str], env: &[(&str, &Path)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ladder"));
    command.args(["--quick", "--connections", "20", "--out"]).arg(out).args(args);
    command.envs(env.iter().copied()).output().unwrap()
}

/// The error of a ladder that fails.
fn refused(args: &[&str], env: &[(&str, &Path)]) -> String {
    let out = tempfile::tempdir().unwrap();
    let output = ladder(out.path(), args, env);
    assert!(!output.status.success());
    assert!(!out.path().join("qrcode.json").exists());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn each_group_has_the_figures_of_its_rows() {
    let out = tempfile::tempdir().unwrap();
    for (group, only, figures) in [
        (
            "qrcode",
            "qr-service",
            &["requests_per_second", "equal_p999", "own_p99", "pss_bytes"][..],
        ),
        ("floors", "node,nginx,service-kit", &["requests_per_second", "saturated_p99", "busy"]),
        ("relay", "relay-service", &["length1_cpu", "chunked3", "paired_p50", "whole_p99"]),
        ("nginx", "ours,without the log", &["instructions", "times_baseline"]),
    ] {
        let output = ladder(out.path(), &["--group", group, "--only", only], &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let json = fs::read(out.path().join(format!("{group}.json"))).unwrap();
        let report: Value = serde_json::from_slice(&json).unwrap();
        let rows = report["rows"].as_array().unwrap();
        let last = only.split(',').next_back().unwrap();
        let row = rows.iter().find(|row| row["name"] == last).unwrap();
        for figure in figures {
            assert!(row["figures"][figure][1].as_f64().unwrap() > 0.0, "{figure}: {row}");
        }
        let table = fs::read_to_string(out.path().join(format!("{group}.md"))).unwrap();
        assert!(table.contains(&format!("\n| {last} | ")) && !table.contains("NaN"), "{table}");
    }
}

#[test]
fn an_unknown_row_or_group_is_named() {
    let said = refused(&["--only", "apache"], &[]);
    assert!(said.contains("apache") && said.contains("qr-service"), "{said}");
    let said = refused(&["--group", "fast"], &[]);
    assert!(said.contains("fast") && said.contains("floors"), "{said}");
}

#[test]
fn a_row_that_is_not_built_fails_the_run_and_says_how_to_build_it() {
    let said = refused(&["--only", "cli"], &[("QR_IMPL_PATH", Path::new("/nowhere/qr"))]);
    assert!(said.contains("/nowhere/qr is not there; build it with: cargo build"), "{said}");
}

#[test]
fn a_row_with_wrong_pictures_fails_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("picture.png");
    let symbol = encode("always the same", Level::L).unwrap();
    let mut png = Vec::new();
    write_png(&symbol, &Raster::SERVICE, &mut png).unwrap();
    fs::write(&picture, png).unwrap();
    let wrong = folder.path().join("qr");
    fs::write(&wrong, format!("#!/bin/sh\ncat >/dev/null\ncat {}\n", picture.display())).unwrap();
    fs::set_permissions(&wrong, fs::Permissions::from_mode(0o755)).unwrap();
    let said = refused(&["--only", "cli"], &[("QR_IMPL_PATH", &wrong)]);
    assert!(said.contains("cli") && said.contains("a picture of another text"), "{said}");
}
