//! Messages for bad flags and variables.

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, Parser};
use service_kit::arguments::{Usage, check_listeners, exit_code, line, timeout};

#[derive(Parser, Debug)]
#[command(name = "program")]
struct Arguments {
    /// A number
    #[arg(long, env = "ARGUMENTS_TEST_COUNT", value_name = "COUNT")]
    count: Option<NonZeroUsize>,
    /// One of two
    #[arg(long, value_parser = ["red", "blue"])]
    colour: Option<String>,
    /// A duration
    #[arg(long, env = "ARGUMENTS_TEST_WAIT", value_name = "TIME", value_parser = timeout)]
    wait: Option<Duration>,
}

fn message(args: &[&str]) -> Option<String> {
    let error = Arguments::try_parse_from(args).expect_err("invalid arguments");
    let mut command = Arguments::command();
    command.build();
    line(&command, &error)
}

#[test]
fn a_bad_value_is_reported_in_one_line_with_flag_variable_and_reason() {
    let count = "--count <COUNT> (ARGUMENTS_TEST_COUNT): invalid value";
    let wait = "--wait <TIME> (ARGUMENTS_TEST_WAIT): invalid value";
    for (args, expected) in [
        (["--count", "many"], format!("{count} \"many\": invalid digit found in string")),
        (["--count", "0"], format!("{count} \"0\": number would be zero for non-zero type")),
        (["--wait", "soon"], format!("{wait} \"soon\": expected number at 0")),
        (["--wait", "400days"], format!("{wait} \"400days\": must not be longer than a year")),
        (["--wait", "0s"], format!("{wait} \"0s\": must be longer than 0")),
        (
            ["--colour", "green"],
            "--colour <COLOUR>: invalid value \"green\": use red or blue".to_owned(),
        ),
    ] {
        assert_eq!(message(&["program", args[0], args[1]]), Some(expected));
    }
}

#[test]
fn a_year_is_not_too_long() {
    let arguments = Arguments::try_parse_from(["program", "--wait", "366days"]).expect("a year");
    assert_eq!(arguments.wait, Some(Duration::from_secs(31_622_400)));
}

#[test]
fn wrong_usage_has_a_code_of_its_own() {
    for (outcome, code) in [
        (Ok(ExitCode::from(7)), 7),
        (Err(Usage("it is wrong".to_owned()).into()), 2),
        (Err(anyhow::anyhow!("it failed")), 4),
    ] {
        assert_eq!(exit_code("program", outcome, 4), ExitCode::from(code));
    }
}

#[test]
fn other_mistakes_keep_claps_own_words() {
    assert_eq!(message(&["program", "--cuont", "1"]), None);
    assert_eq!(message(&["program", "--count"]), None);
    assert_eq!(message(&["program", "--colour"]), None);
    assert_eq!(message(&["program", "--help"]), None);
}

#[test]
fn two_listeners_may_share_only_port_0() {
    let (free, taken) = (([127, 0, 0, 1], 0).into(), ([127, 0, 0, 1], 80).into());
    let check = |addresses: &[&str], admin_addr| {
        let addresses: Vec<_> = addresses.iter().map(|addr| addr.parse().expect(addr)).collect();
        check_listeners("QR_", &addresses, admin_addr)
    };
    assert_eq!(check(&["127.0.0.1:0", "127.0.0.1:0", "unix:/a"], free), Ok(()));
    assert_eq!(check(&["127.0.0.1:0"], taken), Ok(()));
    let error = "--admin-addr (QR_ADMIN_ADDR) must differ from --addr (QR_ADDR), \
                 both are 127.0.0.1:80";
    assert_eq!(check(&["unix:/a", "127.0.0.1:80"], taken), Err(error.to_owned()));
    let error = "--addr (QR_ADDR) has unix:/a twice";
    assert_eq!(check(&["unix:/a", "unix:/b", "unix:/a"], taken), Err(error.to_owned()));
}
