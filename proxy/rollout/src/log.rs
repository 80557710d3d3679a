//! The log of all decisions, one JSON object per line: `ramp.log`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::SystemTime;

use anyhow::Context;
use evidence::Reading;
use serde::Serialize;

use route::Share;

/// One line of the log.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Decision<'a> {
    /// `set`, or an event of a run such as `started`, `moved`, `passed` or `rolled_back`.
    pub(crate) event: &'a str,
    /// The run; `None` for a change by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<&'a str>,
    /// The number of the step, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) step: Option<usize>,
    /// The share after the event.
    pub(crate) share_percent: Share,
    /// The reason, in words.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) reason: &'a str,
    /// The gates that led to it.
    #[serde(skip_serializing_if = "<[Reading]>::is_empty")]
    pub(crate) gates: &'a [Reading],
}

#[derive(Serialize)]
struct Line<'a> {
    time: String,
    #[serde(flatten)]
    decision: &'a Decision<'a>,
}

/// Appends a line.
pub(crate) fn record(route_dir: &Path, decision: &Decision<'_>) -> anyhow::Result<()> {
    let path = route_dir.join("ramp.log");
    let time = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
    let line = serde_json::to_string(&Line { time, decision })? + "\n";
    let mut options = OpenOptions::new();
    let file = options.append(true).create(true).open(&path);
    file.and_then(|mut file| file.write_all(line.as_bytes()))
        .with_context(|| path.display().to_string())
}
