//! Load by wrk: as fast as the server answers.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use carve::local::preflight::is_on_path;
use serde::Deserialize;

use crate::servers::plan::Plan;
use crate::servers::repository;

/// The JSON line of `wrk.lua`.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Closed {
    pub(crate) requests: f64,
    pub(crate) seconds: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    /// Answers other than 200, and requests without an answer.
    errors: u64,
}

/// Checks that wrk is installed. The error says how to install it.
pub fn check_installed() -> anyhow::Result<()> {
    ensure!(is_on_path("wrk"), "wrk is not installed; install it with: apt-get install wrk");
    Ok(())
}

/// Every connection sends its next request as soon as it has an answer. `targets` is a file with one target per line,
/// which wrk requests in turn; without it, it requests `url` and sends more, because it runs no Lua for a request.
/// Fails if wrk fails, its output cannot be parsed, or a request fails.
pub(crate) fn load(
    plan: &Plan,
    url: &str,
    targets: Option<&Path>,
    seconds: u64,
) -> anyhow::Result<Closed> {
    let cores = &plan.load_cores;
    let mut wrk = Command::new("taskset");
    wrk.args(["-c", &cores.list(), "wrk", "--threads", &cores.count().to_string()]);
    wrk.arg("--connections").arg(plan.connections.to_string());
    wrk.arg("--duration").arg(format!("{seconds}s"));
    wrk.args(["--timeout", "30s", "--script"]).arg(repository().join("loadtest/wrk.lua"));
    wrk.arg(url).env_remove("TARGETS");
    if let Some(targets) = targets {
        wrk.env("TARGETS", targets);
    }
    let output = wrk.output().context("taskset")?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let line = said.lines().find(|line| line.starts_with('{'));
    let line = line.with_context(|| format!("wrk: {}", said.trim()))?;
    let closed: Closed = serde_json::from_str(line).with_context(|| line.to_owned())?;
    ensure!(closed.errors == 0, "{} of {} requests failed", closed.errors, closed.requests);
    ensure!(closed.requests > 0.0, "no request was answered in {seconds} s");
    Ok(closed)
}
