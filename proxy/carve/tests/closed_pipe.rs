//! Programs whose reader goes away, as in `make status | head -1`, do not panic and keep their exit code.

use std::process::{Command, Output, Stdio};

use service_kit::testing::{built, repository};

/// Runs a program whose standard output nobody reads, nor its standard error if `stderr_too` is set.
fn unread(program: &str, args: &[&str], stderr_too: bool) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(built(program));
    command.args(args).current_dir(repository()).stdin(Stdio::null());
    command.env("STACK_RUN_DIR", folder.path());
    command.stderr(if stderr_too {
        Stdio::from(writer.try_clone().unwrap())
    } else {
        Stdio::piped()
    });
    command.stdout(writer).output().unwrap()
}

#[test]
fn a_reader_that_goes_away_ends_no_program_in_a_panic() {
    for (args, code) in [
        (["status"].as_slice(), 3),
        (&["down"], 0),
        (&["check", "proxy/routes"], 0),
        (&["contract", "--list"], 0),
        (&["ramp", "--help"], 0),
        (&["completions", "bash"], 0),
    ] {
        let output = unread("carve", args, false);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.as_str()), (Some(code), ""), "{args:?}");
    }
    for (program, args, code) in [
        ("carve", ["compare", "file"].as_slice(), 2),
        ("carve", &["split", "1"], 1),
        ("carve", &["check", "nowhere"], 1),
        ("carve", &["contract", "nowhere"], 2),
        ("carve", &["ramp"], 1),
        ("carve", &["shadow", "--routes", "nowhere"], 2),
        ("carve", &["shadow", "--request-timeout", "0s"], 2),
        ("carve", &["edge", "--log", "x", "--admin-addr", "nowhere"], 2),
        ("qr-service", &["--addr", "nowhere"], 2),
    ] {
        let output = unread(program, args, true);
        assert_eq!(output.status.code(), Some(code), "{program} {args:?}");
    }
}
