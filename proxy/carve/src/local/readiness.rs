//! Waits until the parts are ready.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Pid, getpgid};

use super::parts::{PartSpec, Parts};
use super::settings::Settings;
use super::supervise::PartState;
use super::supervisor::Supervisor;
use super::{http, port_holder};

/// How long the parts may take to be ready. Generous, since tests run on busy machines.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(30);
/// How long the supervisor may take to answer after its start.
const SUPERVISOR_STARTS: Duration = Duration::from_secs(20);
const LOG_LINES: usize = 8;

/// Whether a part is ready now. nginx tries for seconds to listen where another server may answer, so its ports must be
/// held by one of the groups `pids`. Fails if the run folder's `parts.toml` does not list the part.
pub fn is_ready(settings: &Settings, part: &str, pids: &[i32]) -> anyhow::Result<bool> {
    let at = &settings.addresses;
    let ports = [at.proxy, at.proxy_admin].into_iter().filter(|_| part == "nginx");
    let holders = ports.filter_map(port_holder::find);
    let group = |pid| getpgid(Pid::from_raw(pid)).map(Pid::as_raw_pid);
    let mut groups = holders.filter_map(|holder| group(holder.pid).ok());
    Ok(groups.all(|group| pids.contains(&group))
        && answers(&Parts::here(&settings.run_dir)?.part, part)?)
}

fn answers(parts: &[PartSpec], part: &str) -> anyhow::Result<bool> {
    let spec = parts.iter().find(|spec| spec.name == part);
    let url = &spec.with_context(|| format!("{part} is not a part of this stack"))?.ready;
    let client = http::client(Duration::from_secs(5));
    Ok(http::get(&client, url, &[]).is_ok_and(|answer| answer.status == 200))
}

/// Waits until all parts are ready. The error names the first that failed or was not ready in time, with the end of its
/// log.
pub fn wait(settings: &Settings, supervisor: &Supervisor, parts: &[String]) -> anyhow::Result<()> {
    let specs = Parts::here(&settings.run_dir)?.part;
    let began = Instant::now();
    for (number, part) in parts.iter().enumerate() {
        while !answers(&specs, part)? {
            if began.elapsed() > TIMEOUT {
                bail!("{part} is not ready after {TIMEOUT:?}{}", log_end(settings, part));
            }
            let states = match supervisor.states() {
                // The supervisor may still be starting.
                Err(_) if began.elapsed() < SUPERVISOR_STARTS => Vec::new(),
                states => states?,
            };
            for PartState { part, failure, .. } in states {
                if let Some(failure) = failure.filter(|_| parts[number..].contains(&part)) {
                    bail!("{part} does not start: {failure}{}", log_end(settings, &part));
                }
            }
            std::thread::sleep(POLL);
        }
    }
    Ok(())
}

fn log_end(settings: &Settings, part: &str) -> String {
    let text = fs::read(settings.log_of(part)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let end = &lines[lines.len().saturating_sub(LOG_LINES)..];
    format!("; its log ends with:\n{}", end.join("\n"))
}
