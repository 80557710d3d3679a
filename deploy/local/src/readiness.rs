//! Waits until the parts are ready.

use std::collections::VecDeque;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::bail;

use crate::http;
use crate::settings::{Part, Settings};
use crate::supervisor::{Supervisor, has_failed};

/// How long parts get to be ready; generous, since tests share their machine.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(30);
/// Asking supervisord starts a Python each time.
const POLL_STATES: Duration = Duration::from_secs(1);
/// How long supervisord gets until it must answer.
const SUPERVISOR_STARTS: Duration = Duration::from_secs(20);
const LOG_LINES: usize = 8;

/// The URL that answers 200 when a part is ready.
pub fn url(settings: &Settings, part: Part) -> String {
    let at = &settings.addresses;
    match part {
        Part::QrService => format!("http://{}/readyz", at.new_admin),
        Part::LegacyNode => format!("http://{}/readyz", at.old_admin),
        Part::Shadow => format!("http://{}/readyz", at.shadow_admin),
        Part::Nginx => format!("http://{}/livez", at.proxy_admin),
        Part::Edge => format!("http://{}/readyz", at.edge),
        Part::Watch => format!("http://{}/ramp/metrics", at.proxy_admin),
        Part::NginxExporter => format!("http://{}/metrics", at.nginx_exporter),
        Part::RelayService => format!("http://{}/readyz", at.relay_admin),
        Part::LegacyRelay => format!("http://{}/readyz", at.old_relay_admin),
        Part::RelayHome => format!("http://{}/readyz", at.home_admin),
        Part::RelayHomeB => format!("http://{}/readyz", at.home_b_admin),
        Part::Prometheus => format!("http://{}/prometheus/-/ready", at.prometheus),
    }
}

/// Whether a part is ready now.
pub fn is_ready(settings: &Settings, part: Part) -> bool {
    let client = http::client(Duration::from_secs(5));
    http::get(&client, &url(settings, part), &[]).is_ok_and(|answer| answer.status == 200)
}

/// Waits until all parts are ready.
///
/// # Errors
/// The first part that failed or was not ready in time, with the end of its log.
pub fn wait(settings: &Settings, supervisor: &Supervisor, parts: &[Part]) -> anyhow::Result<()> {
    let began = Instant::now();
    let deadline = began + TIMEOUT;
    let mut waiting: VecDeque<Part> = parts.iter().copied().collect();
    let mut next_look = Instant::now() + POLL_STATES;
    while let Some(&part) = waiting.front() {
        if is_ready(settings, part) {
            waiting.pop_front();
            continue;
        }
        if Instant::now() > deadline {
            bail!("{} is not ready after {TIMEOUT:?}{}", part.name(), log_end(settings, part));
        }
        if Instant::now() > next_look {
            let states = match supervisor.states() {
                // supervisord itself may still be starting.
                Err(_) if began.elapsed() < SUPERVISOR_STARTS => Vec::new(),
                states => states?,
            };
            let failed =
                |(part, state): &&(Part, String)| waiting.contains(part) && has_failed(state);
            if let Some((part, _)) = states.iter().find(failed) {
                bail!("{} does not start{}", part.name(), log_end(settings, *part));
            }
            next_look = Instant::now() + POLL_STATES;
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}

fn log_end(settings: &Settings, part: Part) -> String {
    let text = fs::read(settings.log_of(part)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let end = &lines[lines.len().saturating_sub(LOG_LINES)..];
    format!("; its log ends with:\n{}", end.join("\n"))
}
