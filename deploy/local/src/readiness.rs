//! Waiting until each part is ready.

use std::collections::VecDeque;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::bail;

use crate::http;
use crate::settings::{Part, Settings};
use crate::supervisor::Supervisor;

/// Pause between two looks.
pub const POLL: Duration = Duration::from_millis(30);
/// Between two looks at supervisord, each of which starts a Python.
const LOOK_AT_STATES: Duration = Duration::from_secs(1);
const LOG_LINES: usize = 8;

/// The URL that says whether a part is ready.
pub fn url(settings: &Settings, part: Part) -> String {
    let at = &settings.addresses;
    match part {
        Part::QrService => format!("http://{}/readyz", at.new_admin),
        Part::LegacyNode => format!("http://{}/readyz", at.old_admin),
        Part::Shadow => format!("http://{}/readyz", at.shadow_admin),
        Part::Nginx => format!("http://{}/livez", at.proxy_admin),
        Part::NginxExporter => format!("http://{}/metrics", at.nginx_exporter),
        Part::Prometheus => format!("http://{}/prometheus/-/ready", at.prometheus),
    }
}

/// Whether a part is ready now.
pub fn is_ready(settings: &Settings, part: Part) -> bool {
    http::get(&url(settings, part)).is_ok_and(|(status, _)| status == 200)
}

/// Waits until all are ready.
///
/// # Errors
/// The part that failed, or wasn't ready in time, with the end of its log.
pub fn wait(
    settings: &Settings,
    supervisor: &Supervisor,
    parts: &[Part],
    timeout: Duration,
) -> anyhow::Result<()> {
    let deadline = Instant::now() + timeout;
    let mut waiting: VecDeque<Part> = parts.iter().copied().collect();
    let mut next_look = Instant::now() + LOOK_AT_STATES;
    while let Some(&part) = waiting.front() {
        if is_ready(settings, part) {
            waiting.pop_front();
            continue;
        }
        if Instant::now() > deadline {
            bail!("{} is not ready after {timeout:?}{}", part.name(), log_end(settings, part));
        }
        if Instant::now() > next_look {
            fail_early(settings, supervisor, &waiting)?;
            next_look = Instant::now() + LOOK_AT_STATES;
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}

/// A part that ended by itself won't get ready.
fn fail_early(
    settings: &Settings,
    supervisor: &Supervisor,
    waiting: &VecDeque<Part>,
) -> anyhow::Result<()> {
    let states = supervisor.states()?;
    for &part in waiting {
        let failed = states.iter().any(|state| state.name == part.name() && state.has_failed());
        if failed {
            bail!("{} does not start{}", part.name(), log_end(settings, part));
        }
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
