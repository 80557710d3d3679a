//! Three programs. `ladder` measures servers in rows ([`rows`]), in turn, on their own cores, and writes a table
//! ([`report`]). `chaos` plays faults under load ([`chaos`]). `load` gives a stack traffic. All send requests
//! at fixed rates by the same clients ([`client`]).

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anstream::eprintln;
use anyhow::Context;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;

pub mod chaos;
pub mod check;
pub mod client;
pub mod cores;
pub mod ladder;
pub mod nginx;
pub mod relay;
pub mod report;
pub mod rows;
pub mod sampling;
pub mod server;
pub mod svg;
#[cfg(test)]
mod tests;
pub mod texts;
pub mod wrk;

/// A program's exit code; prints an error as one line.
pub fn exit_code(program: &str, result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        eprintln!("{program}: {error:#}");
        ExitCode::FAILURE
    })
}

/// Writes a file, and makes its folder if it is missing.
///
/// # Errors
/// The file, and the system's message.
pub fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    file.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(file, text))
        .with_context(|| file.display().to_string())
}

/// Writes `value` as JSON with [`write()`].
///
/// # Errors
/// Those of [`write()`].
pub fn write_json(file: &Path, value: &impl Serialize) -> anyhow::Result<()> {
    write(file, &(serde_json::to_string_pretty(value)? + "\n"))
}

/// Lets this process, and those that it starts, open as many files as the system allows.
///
/// # Errors
/// If the limit cannot be set.
pub fn allow_all_files() -> anyhow::Result<()> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).context("ulimit -n")
}
