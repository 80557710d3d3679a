//! Every decision, a JSON object a line: `ramp.log`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::SystemTime;

use anyhow::Context;
use serde::Serialize;

use crate::{Reading, Share};

/// What was decided.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Decision<'a> {
    /// `set`, or what a run did: `started`, `moved`, `passed`, `rolled_back` ...
    pub(crate) event: &'a str,
    /// The run; `None` where it was done by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<&'a str>,
    /// Which step, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) step: Option<usize>,
    /// The share from then on.
    pub(crate) share_percent: Share,
    /// Why, in words.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) reason: &'a str,
    /// What it was judged by.
    #[serde(skip_serializing_if = "<[Reading]>::is_empty")]
    pub(crate) gates: &'a [Reading],
}

#[derive(Serialize)]
struct Line<'a> {
    time: String,
    #[serde(flatten)]
    decision: &'a Decision<'a>,
}

/// Adds a line.
///
/// # Errors
/// Where the file can't be written.
pub(crate) fn record(nginx_dir: &Path, decision: &Decision<'_>) -> anyhow::Result<()> {
    let path = nginx_dir.join("ramp.log");
    let time = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
    let line = serde_json::to_string(&Line { time, decision })? + "\n";
    let mut options = OpenOptions::new();
    let file = options.append(true).create(true).open(&path);
    file.and_then(|mut file| file.write_all(line.as_bytes()))
        .with_context(|| path.display().to_string())
}
