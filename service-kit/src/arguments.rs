//! Flags and environment variables, read by clap, with a one-line message for a bad value.
//!
//! clap's own message names only the flag, even if the value came from a variable, as it mostly does
//! in services. The message here names both.

use std::error::Error;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use anstream::eprintln;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Parser};

use crate::ListenAddr;

/// Exit code for wrong usage, the same as clap's.
pub const USAGE: u8 = 2;

/// Reads the arguments. Exits with [`USAGE`] if they are invalid, and with 0 after `--help` and
/// `--version`.
pub fn parse<P: Parser>() -> P {
    P::try_parse().unwrap_or_else(|error| {
        let mut command = P::command();
        command.build(); // without this, clap cannot format its arguments
        // Two subcommands may share a flag's name but read different variables.
        let used = std::env::args_os().skip(1).find_map(|word| command.find_subcommand(word));
        if let Some(line) = line(used.unwrap_or(&command), &error) {
            eprintln!("{}: {line}", command.get_name());
            std::process::exit(USAGE.into());
        }
        error.exit()
    })
}

/// Wrong usage that clap cannot detect; the message names the argument.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// Maps an outcome to an exit code: [`USAGE`] for wrong usage, `failure` for any other error. Prints each line of the
/// error to stderr, after the name of the program.
pub fn exit_code(program: &str, outcome: anyhow::Result<ExitCode>, failure: u8) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        for line in format!("{error:#}").lines() {
            eprintln!("{program}: {line}");
        }
        ExitCode::from(if error.is::<Usage>() { USAGE } else { failure })
    })
}

/// A clap `value_parser` for durations such as `10s`, `1m 30s` or `250ms`. Fails if `value` is not a duration, or is
/// longer than a year: adding it to the current time could overflow the clock.
pub fn time(value: &str) -> Result<Duration, Box<dyn Error + Send + Sync>> {
    const YEAR: Duration = Duration::from_secs(366 * 24 * 3600);
    match humantime::parse_duration(value)? {
        time if time > YEAR => Err("must not be longer than a year".into()),
        time => Ok(time),
    }
}

/// A clap `value_parser` for durations longer than 0.
pub fn timeout(value: &str) -> Result<Duration, Box<dyn Error + Send + Sync>> {
    match time(value)? {
        Duration::ZERO => Err("must be longer than 0".into()),
        timeout => Ok(timeout),
    }
}

/// The number of threads that a setting means: 0 is one for each processor.
pub fn threads(count: usize) -> usize {
    match count {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        count => count,
    }
}

/// Checks that a service's public addresses differ from each other and from the admin listener's. `prefix` begins the
/// names of the variables `ADDR` and `ADMIN_ADDR`. Port 0 never clashes: the system picks a free port for each. The
/// error is one line that names the settings.
pub fn check_listeners(
    prefix: &str,
    addresses: &[ListenAddr],
    admin_addr: SocketAddr,
) -> Result<(), String> {
    let admin = ListenAddr::from(admin_addr);
    let any_port = |addr: &ListenAddr| matches!(addr, ListenAddr::Tcp(addr) if addr.port() == 0);
    for (at, addr) in addresses.iter().enumerate().filter(|(_, addr)| !any_port(addr)) {
        if *addr == admin {
            return Err(format!(
                "--admin-addr ({prefix}ADMIN_ADDR) must differ from --addr ({prefix}ADDR), both are {addr}"
            ));
        }
        if addresses[..at].contains(addr) {
            return Err(format!("--addr ({prefix}ADDR) has {addr} twice"));
        }
    }
    Ok(())
}

/// The line for a bad value, with the names of its flag and its variable; `None` for every other error. Call
/// [`Command::build`] on `command` first.
pub fn line(command: &Command, error: &clap::Error) -> Option<String> {
    if !matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation) {
        return None;
    }
    let Some(ContextValue::String(shown)) = error.get(ContextKind::InvalidArg) else { return None };
    let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) else {
        return None;
    };
    if value.is_empty() && error.source().is_none() {
        return None; // the value is missing, not bad
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
