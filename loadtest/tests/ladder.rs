//! A short ladder on real servers, and ladders with a broken row.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use loadtest::report::Report;
use qr_core::{Level, Raster, encode, write_png};

/// Runs a short ladder; the servers inherit `env`.
fn ladder(out: &Path, only: &str, env: &[(&str, &Path)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ladder"));
    command.args(["--quick", "--connections", "20", "--only", only, "--out"]).arg(out);
    command.envs(env.iter().copied()).output().unwrap()
}

/// The error of a ladder whose CLI is at `path`.
fn refused(path: &Path) -> String {
    let out = tempfile::tempdir().unwrap();
    let output = ladder(out.path(), "cli", &[("QR_IMPL_PATH", path)]);
    assert!(!output.status.success());
    assert!(!out.path().join("ladder.json").exists());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_quick_ladder_has_every_figure_of_its_rows_and_no_error() {
    let out = tempfile::tempdir().unwrap();
    let output = ladder(out.path(), "qr-service", &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let json = fs::read_to_string(out.path().join("ladder.json")).unwrap();
    let report: Report = serde_json::from_str(&json).unwrap();
    let names: Vec<&str> = report.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["static", "node", "qr-service"]);
    for row in &report.rows {
        assert_eq!(row.errors, 0);
        for figure in [
            row.requests_per_second.median,
            row.cpu_seconds_per_1000.median,
            row.equal.p999.median,
            row.own.p99.median,
            row.bytes_per_response,
            row.pss_bytes.median,
        ] {
            assert!(figure > 0.0, "{row:?}");
        }
        assert!(row.pss_bytes.median <= row.rss_bytes.median);
    }
    let [node, service] = [&report.rows[1], &report.rows[2]];
    assert!(service.bytes_per_response < node.bytes_per_response);
    let page = fs::read_to_string(out.path().join("ladder.html")).unwrap();
    assert!(page.contains("qr-service") && !page.contains("NaN"));
}

#[test]
fn a_row_that_is_not_built_fails_the_run_and_says_how_to_build_it() {
    let said = refused(Path::new("/nowhere/qr"));
    assert!(said.contains("cli"), "{said}");
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
    let said = refused(&wrong);
    assert!(said.contains("cli") && said.contains("a picture of another text"), "{said}");
}
