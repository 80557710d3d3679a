//! The log of all decisions, one JSON object per line (`ramp.log`), and problems, which go to stderr.

use std::path::Path;
use std::time::SystemTime;

use anstream::eprintln;
use evidence::Reading;
use serde::Serialize;

use crate::files;
use crate::state::State;
use route::Share;

/// One line of the log.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Decision<'a> {
    /// When it was made, as RFC 3339.
    pub(crate) time: String,
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
    /// Who made the change or started the run.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) actor: &'a str,
    /// The reason, in words.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) reason: &'a str,
    /// The gates that led to the event.
    #[serde(skip_serializing_if = "<[Reading]>::is_empty")]
    pub(crate) gates: &'a [Reading],
}

impl<'a> Decision<'a> {
    /// A change by hand.
    pub(crate) fn by_hand(
        event: &'a str,
        share_percent: Share,
        actor: &'a str,
        reason: &'a str,
    ) -> Self {
        let time = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
        Decision { time, event, run: None, step: None, share_percent, actor, reason, gates: &[] }
    }

    /// An event of a run.
    pub(crate) fn of_run(event: &'a str, share_percent: Share, state: &'a State) -> Self {
        let (run, step) = (Some(&*state.run), Some(state.step + 1));
        let why = if event == "started" { &state.by.reason } else { &state.reason };
        Decision { run, step, ..Decision::by_hand(event, share_percent, state.actor(), why) }
    }
}

/// Appends a line.
pub(crate) fn record(route_dir: &Path, decision: &Decision<'_>) -> anyhow::Result<()> {
    files::append(&route_dir.join("ramp.log"), &(serde_json::to_string(decision)? + "\n"))
}

/// The last problem of an action that is retried. A problem that repeats is reported only once.
#[derive(Debug, Default)]
pub(crate) struct Problem(String);

impl Problem {
    pub(crate) fn report(&mut self, outcome: anyhow::Result<()>) {
        let now = outcome.err().map_or(String::new(), |problem| format!("{problem:#}"));
        if !now.is_empty() && now != self.0 {
            eprintln!("carve: {now}");
        }
        self.0 = now;
    }
}
