//! Programs whose reader goes away, as in `make status | head -1`: no panic, and the same exit code.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::process::{Command, Output, Stdio};

use stack::settings::repository;
use support::built;

/// Runs a program whose standard output, and if told so standard error, nobody reads.
fn unread(program: &str, args: &[&str], stderr_too: bool) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(built(program));
    command.args(args).current_dir(repository()).stdin(Stdio::null());
    command.env("STACK_RUN_DIR", folder.path()).env("RAMP_NGINX_DIR", folder.path());
    command.stderr(if stderr_too {
        Stdio::from(writer.try_clone().unwrap())
    } else {
        Stdio::piped()
    });
    command.stdout(writer).output().unwrap()
}

#[test]
fn a_reader_that_goes_away_ends_no_program_in_a_panic() {
    for (program, args, code) in [
        ("stack", ["status"].as_slice(), 3),
        ("stack", &["down"], 0),
        ("routes", &["check", "proxy/routes"], 0),
        ("contract", &["--list"], 0),
        ("ramp", &["--help"], 0),
        ("shadow", &["compare", "--help"], 0),
    ] {
        let output = unread(program, args, false);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.as_str()), (Some(code), ""), "{program} {args:?}");
    }
    for (program, args, code) in [
        ("stack", ["compare", "file"].as_slice(), 2),
        ("stack", &["split", "1"], 1),
        ("routes", &["check", "nowhere"], 1),
        ("contract", &["nowhere"], 2),
        ("ramp", &["status"], 1),
        ("shadow", &["--routes", "nowhere"], 2),
        ("shadow", &["--request-timeout", "0s"], 2),
        ("edge", &["--log", "x", "--admin-addr", "nowhere"], 2),
        ("qr-service", &["--addr", "nowhere"], 2),
    ] {
        let output = unread(program, args, true);
        assert_eq!(output.status.code(), Some(code), "{program} {args:?}");
    }
}
