//! Modules that start servers: the ladder ([`ladder`], [`rows`], [`report`]) and faults ([`chaos`]).

use std::fs;
use std::path::Path;

use anyhow::Context;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;

pub mod chaos;
pub mod check;
pub mod cores;
pub mod ladder;
mod nginx;
pub mod plan;
mod relay;
pub mod report;
pub mod rows;
pub mod sampling;
pub mod server;
pub mod svg;
#[cfg(test)]
mod tests;
pub mod wrk;

/// Writes a file, and makes its folder if it is missing.
///
/// # Errors
/// The file, and the system's message.
pub fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    let made = file.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(file, text)).with_context(|| file.display().to_string())
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
