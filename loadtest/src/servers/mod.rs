//! Modules that start servers: the ladder ([`ladder`], [`rows`], [`report`]) and faults ([`chaos`]).

use std::path::{Path, PathBuf};

use anyhow::Context;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

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

/// Lets this process, and those that it starts, open as many files as the system allows. Fails if the limit cannot be
/// set.
pub fn allow_all_files() -> anyhow::Result<()> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).context("ulimit -n")
}

/// The repository that this program was built in.
pub fn repository() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// The file of the demonstration's parts.
fn demonstration() -> PathBuf {
    repository().join("deploy/demonstration.toml")
}
