//! Flags and variables, read by clap, with one line for a value that cannot be read.
//!
//! clap's own message names the flag even where the value came from a variable, which is where
//! services get theirs from; here both are named.

mod check;

use std::error::Error;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Parser};

pub use check::{Invalid, Names, time};

/// Exit code of a program that was called wrongly, as clap has it.
pub const USAGE: u8 = 2;

/// What was typed. Ends the program with [`USAGE`] where that cannot be read, and with 0 after
/// `--help` and `--version`.
pub fn parse<P: Parser>() -> P {
    P::try_parse().unwrap_or_else(|error| {
        let mut command = P::command();
        command.build(); // or its arguments can't be shown
        if let Some(line) = line(&command, &error) {
            eprintln!("{}: {line}", command.get_name());
            std::process::exit(USAGE.into());
        }
        error.exit()
    })
}

/// The line for a value that cannot be read; `None` for every other error.
fn line(command: &Command, error: &clap::Error) -> Option<String> {
    if !matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation) {
        return None;
    }
    let Some(ContextValue::String(shown)) = error.get(ContextKind::InvalidArg) else { return None };
    let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) else {
        return None;
    };
    if value.is_empty() && error.source().is_none() {
        return None; // not a bad value but none at all
    }
    let name = match find(command, shown).and_then(Arg::get_env) {
        Some(variable) => format!("{shown} ({})", variable.to_string_lossy()),
        None => shown.clone(),
    };
    let reason = match (error.source(), error.get(ContextKind::ValidValue)) {
        (Some(source), _) => source.to_string(),
        (None, Some(ContextValue::Strings(values))) => format!("use {}", values.join(" or ")),
        _ => "cannot be read".to_owned(),
    };
    Some(format!("{name}: invalid value {value:?}: {reason}"))
}

fn find<'a>(command: &'a Command, shown: &str) -> Option<&'a Arg> {
    let here = command.get_arguments().find(|argument| argument.to_string() == shown);
    here.or_else(|| command.get_subcommands().find_map(|command| find(command, shown)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Parser, Debug)]
    #[command(name = "program")]
    struct Arguments {
        /// A number
        #[arg(long, env = "ARGUMENTS_TEST_COUNT", value_name = "COUNT")]
        count: Option<u8>,
        /// One of two
        #[arg(long, value_parser = ["red", "blue"])]
        colour: Option<String>,
    }

    fn said(args: &[&str]) -> Option<String> {
        let error = Arguments::try_parse_from(args).expect_err("cannot be read");
        let mut command = <Arguments as clap::CommandFactory>::command();
        command.build();
        line(&command, &error)
    }

    #[test]
    fn a_bad_value_is_named_with_flag_variable_and_reason_in_one_line() {
        assert_eq!(
            said(&["program", "--count", "many"]).as_deref(),
            Some(
                "--count <COUNT> (ARGUMENTS_TEST_COUNT): invalid value \"many\": \
                 invalid digit found in string"
            )
        );
        assert_eq!(
            said(&["program", "--colour", "green"]).as_deref(),
            Some("--colour <COLOUR>: invalid value \"green\": use red or blue")
        );
    }

    #[test]
    fn other_mistakes_keep_claps_own_words() {
        assert_eq!(said(&["program", "--cuont", "1"]), None);
        assert_eq!(said(&["program", "--count"]), None);
        assert_eq!(said(&["program", "--colour"]), None);
        assert_eq!(said(&["program", "--help"]), None);
    }
}
