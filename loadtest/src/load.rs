//! Load by wrk, as fast as the server answers, and by oha, at a fixed rate.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use stack::preflight::is_on_path;
use stack::settings::repository;

use crate::server::Cores;

/// Checks that load generators are installed.
///
/// # Errors
/// The first that is missing, and how to install it.
pub fn check_installed(generators: &[&str]) -> anyhow::Result<()> {
    for program in ["taskset"].iter().chain(generators) {
        let install = match *program {
            "taskset" => "apt-get install util-linux",
            "oha" => "cargo install --locked oha",
            _ => "apt-get install wrk",
        };
        ensure!(is_on_path(program), "{program} is not installed; install it with: {install}");
    }
    Ok(())
}

/// The clients' figures.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Load {
    /// Requests answered per second.
    pub requests_per_second: f64,
    /// Requests answered.
    pub requests: f64,
    /// Mean latency in seconds; in an open loop from the time the request was due.
    pub mean_seconds: f64,
    /// Median latency.
    pub p50_seconds: f64,
    /// 99th percentile.
    pub p99_seconds: f64,
    /// 99.9th percentile.
    pub p999_seconds: f64,
    /// Mean bytes of a body.
    pub bytes_per_response: f64,
    /// Answers other than 200, and requests without an answer.
    pub errors: u64,
}

/// The JSON line of `wrk.lua`.
#[derive(Deserialize)]
struct WrkSays {
    requests: f64,
    seconds: f64,
    bytes: f64,
    errors: u64,
    mean_us: f64,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
}

/// Closed loop: every connection sends its next request as soon as it has an answer.
///
/// `targets` is a file with one URL per line. wrk counts the bytes of whole responses, heads included.
///
/// # Errors
/// If wrk fails or its output cannot be parsed.
pub fn closed(
    targets: &Path,
    url: &str,
    cores: &Cores,
    connections: usize,
    seconds: u64,
) -> anyhow::Result<Load> {
    wrk(url, Some(targets), cores, connections, seconds)
}

/// The same for one URL. wrk sends more of those, because it runs no Lua for a request.
///
/// # Errors
/// As [`closed`].
pub fn closed_for_one(
    url: &str,
    cores: &Cores,
    connections: usize,
    seconds: u64,
) -> anyhow::Result<Load> {
    wrk(url, None, cores, connections, seconds)
}

fn wrk(
    url: &str,
    targets: Option<&Path>,
    cores: &Cores,
    connections: usize,
    seconds: u64,
) -> anyhow::Result<Load> {
    let mut wrk = Command::new("taskset");
    wrk.args(["-c", &cores.list(), "wrk", "--threads", &cores.count().to_string()]);
    wrk.arg("--connections").arg(connections.to_string());
    wrk.arg("--duration").arg(format!("{seconds}s"));
    wrk.args(["--timeout", "30s", "--script"]).arg(repository().join("loadtest/wrk.lua"));
    wrk.arg(url).env_remove("TARGETS");
    if let Some(targets) = targets {
        wrk.env("TARGETS", targets);
    }
    let output = wrk.output().context("taskset")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let line = said.lines().find(|line| line.starts_with('{'));
    let says: WrkSays =
        serde_json::from_str(line.with_context(|| format!("wrk: {}", all(&output)))?)?;
    Ok(Load {
        requests_per_second: says.requests / says.seconds,
        requests: says.requests,
        mean_seconds: says.mean_us / 1e6,
        p50_seconds: says.p50_us / 1e6,
        p99_seconds: says.p99_us / 1e6,
        p999_seconds: says.p999_us / 1e6,
        bytes_per_response: says.bytes / says.requests.max(1.0),
        errors: says.errors,
    })
}

/// The fields of oha's JSON that are used.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OhaSays {
    summary: OhaSummary,
    latency_percentiles: HashMap<String, Option<f64>>,
    status_code_distribution: HashMap<String, u64>,
    error_distribution: HashMap<String, u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OhaSummary {
    average: Option<f64>,
    requests_per_sec: f64,
    size_per_request: Option<f64>,
}

/// Open loop: `rate` requests per second, however long answers take. Latency counts from the time a
/// request was due, so that a stall shows in every request it delays (coordinated omission).
///
/// # Errors
/// If oha fails or its output cannot be parsed.
pub fn open(
    targets: &Path,
    cores: &Cores,
    connections: usize,
    rate: f64,
    seconds: u64,
) -> anyhow::Result<Load> {
    let mut oha = Command::new("taskset");
    oha.args(["-c", &cores.list(), "oha", "--no-tui", "--output-format", "json"]);
    oha.args(["--latency-correction", "--disable-compression", "--no-color"]);
    oha.arg("--wait-ongoing-requests-after-deadline");
    oha.args(["-c", &connections.to_string(), "-z", &format!("{seconds}s")]);
    oha.args(["-q", &format!("{:.0}", rate.max(1.0)), "--urls-from-file"]).arg(targets);
    let output = oha.output().context("taskset")?;
    ensure!(output.status.success(), "oha: {}", all(&output));
    let says: OhaSays =
        serde_json::from_slice(&output.stdout).with_context(|| format!("oha: {}", all(&output)))?;
    let percentile = |name: &str| says.latency_percentiles.get(name).copied().flatten();
    let percentile = |name| percentile(name).unwrap_or(f64::NAN);
    let answered: u64 = says.status_code_distribution.values().sum();
    let right = says.status_code_distribution.get("200").copied().unwrap_or(0);
    let lost: u64 = says.error_distribution.values().sum();
    Ok(Load {
        requests_per_second: says.summary.requests_per_sec,
        requests: answered as f64,
        mean_seconds: says.summary.average.unwrap_or(f64::NAN),
        p50_seconds: percentile("p50"),
        p99_seconds: percentile("p99"),
        p999_seconds: percentile("p99.9"),
        bytes_per_response: says.summary.size_per_request.unwrap_or(f64::NAN),
        errors: answered - right + lost,
    })
}

fn all(output: &Output) -> String {
    let said = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&said).trim().to_owned()
}
