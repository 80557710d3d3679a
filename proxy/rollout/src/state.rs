//! The state of a run: `ramp.json`. It is written before and after every move, so a killed run can be
//! resumed.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use evidence::Judgement;
use evidence::trial::Trial;
use serde::{Deserialize, Deserializer, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::files;
use route::{Ramp, Share};

/// The settings of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The share of each step.
    pub steps: Vec<Share>,
    /// How long each step is held.
    pub hold: Duration,
    /// How much longer a step may wait for missing data.
    pub patience: Duration,
    /// The file of gates; `None` for the built-in ones.
    pub gates: Option<PathBuf>,
    /// Whether the last step waits for a person.
    #[serde(default)]
    pub confirm: bool,
}

impl Plan {
    /// The settings of a route's file.
    pub fn of(ramp: &Ramp) -> Self {
        let (steps, hold) = (ramp.steps.clone(), ramp.hold.0);
        Plan { steps, hold, patience: hold, gates: None, confirm: ramp.confirm }
    }
}

/// Whether the last step waits for a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confirmation {
    /// It does not wait, or not yet.
    #[default]
    Unasked,
    /// It waits.
    Asked,
    /// Somebody has resumed the run.
    Given,
}

/// The phase of a run. The phases of an unfinished run come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Waits for `carve serve` to start or resume it.
    Ordered,
    /// Holds a step and judges it.
    Holding,
    /// Stays at a step after `carve pause`; a gate may still roll it back.
    Paused,
    /// Stopped at a step for lack of data; the process has ended.
    Inconclusive,
    /// Stopped at a step by a signal.
    Interrupted,
    /// Moves back to the start share.
    GoingBack,
    /// Every step passed.
    Done,
    /// A gate failed, and the start share is back.
    RolledBack,
    /// Aborted, and the start share is back.
    Aborted,
    /// Somebody set the share by hand after the process had ended.
    Superseded,
    /// The route was stopped.
    Stopped,
    /// The process was silent for the route's lease, and a watcher returned to the start share or stopped the route.
    Lost,
}

impl Phase {
    /// The name in files, logs and metrics.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Whether the run can be resumed or aborted.
    pub fn is_unfinished(self) -> bool {
        self < Phase::Done
    }
}

/// The share that a run returns to when it ends early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Back {
    /// The share at which it began.
    #[default]
    Start,
    /// 0%: everything to the old side.
    Old,
}

/// A request to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Request {
    /// Stay at this step.
    Pause,
    /// Resume from the beginning of this step.
    Resume,
    /// Go back and end.
    Abort(Back),
}

/// Who makes a change, and why, as far as that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct By {
    /// The name of a person, or of a process that acts by itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub actor: String,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl By {
    /// A process that acts by itself.
    pub fn itself(actor: &str) -> Self {
        By { actor: actor.to_owned(), reason: String::new() }
    }

    /// Says that something happens on request, and why, if that is known.
    pub(crate) fn on_request(&self) -> String {
        let reason = &self.reason;
        if reason.is_empty() { "on request".to_owned() } else { format!("on request: {reason}") }
    }
}

/// A request, and who made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunRequest {
    pub(crate) request: Request,
    #[serde(flatten)]
    pub(crate) by: By,
}

/// The state of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The name in the log: the time at which the run started.
    pub run: String,
    /// Who started the run, and why.
    #[serde(default)]
    pub by: By,
    /// Who last asked the run to resume, pause or end.
    #[serde(default)]
    pub asked: By,
    /// The settings.
    pub plan: Plan,
    /// The share that a rollback returns to.
    pub start_share: Share,
    /// The index of the step, from 0.
    pub step: usize,
    /// The phase.
    pub phase: Phase,
    /// The reason for the phase, in words.
    pub reason: String,
    /// How long the step has been held and judged.
    #[serde(default)]
    pub held: Duration,
    /// When the step was last judged.
    pub judged: Option<SystemTime>,
    /// When the step will have been held for the plan's time. It may then still wait for proof.
    pub hold_ends: Option<SystemTime>,
    /// The last judgement of the step.
    pub judgement: Option<Judgement>,
    /// The folder of the run's report; `None` for the route's own.
    pub report: Option<PathBuf>,
    /// The evidence of the run so far.
    #[serde(default, deserialize_with = "if_readable")]
    pub trial: Option<Trial>,
    /// Whether somebody has set the share by hand since the run ended.
    #[serde(default)]
    pub is_past: bool,
    /// The person's word for the last step, if the plan asks for it.
    #[serde(default)]
    pub confirmation: Confirmation,
    /// A hash of the route file with which the run began. A file begins one run by itself, not a second one.
    #[serde(default)]
    pub file: u64,
}

/// Drops evidence that another version wrote in another form; the run then collects it anew.
fn if_readable<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Trial>, D::Error> {
    let value = serde_json::Value::deserialize(from)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

impl State {
    fn file(route_dir: &Path) -> PathBuf {
        route_dir.join("ramp.json")
    }

    /// Loads the last run; `None` if there was none yet.
    pub fn load(route_dir: &Path) -> anyhow::Result<Option<State>> {
        let file = State::file(route_dir);
        let Some(text) = files::read_if_there(&file)? else { return Ok(None) };
        serde_json::from_str(&text).map(Some).with_context(|| file.display().to_string())
    }

    /// Loads the last run if it is unfinished.
    pub fn load_unfinished(route_dir: &Path) -> anyhow::Result<Option<State>> {
        Ok(State::load(route_dir)?.filter(|state| state.phase.is_unfinished()))
    }

    pub(crate) fn save(&self, route_dir: &Path) -> anyhow::Result<()> {
        files::replace(&State::file(route_dir), &serde_json::to_string_pretty(self)?)
    }

    /// Who the run acts for: whoever last asked it for something, else whoever started it.
    pub(crate) fn actor(&self) -> &str {
        if self.asked.actor.is_empty() { &self.by.actor } else { &self.asked.actor }
    }

    /// Whether the current step ends with a person's word, which is still missing.
    pub(crate) fn needs_person(&self) -> bool {
        let is_last_but_one = self.step + 2 == self.plan.steps.len();
        self.plan.confirm && is_last_but_one && self.confirmation != Confirmation::Given
    }

    /// The share of the current step.
    pub fn share(&self) -> Share {
        self.plan.steps.get(self.step).copied().unwrap_or(self.start_share)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (step, steps) = (self.step + 1, self.plan.steps.len());
        write!(f, "{}: step {step} of {steps}, {}%", self.phase.as_str(), self.share())?;
        if !self.reason.is_empty() {
            write!(f, "; {}", self.reason)?;
        }
        Ok(())
    }
}

/// The state of a run on a cluster, as its process writes it for others.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Heartbeat {
    /// Rises with each heartbeat.
    pub(crate) beat: u64,
    /// The process that holds the run; `None` if none does.
    pub(crate) holder: Option<String>,
    /// The run.
    pub(crate) state: State,
}

impl Heartbeat {
    /// The last entry of a run that no process holds any more. An ended run is told without its evidence: with it, 25
    /// routes would fill the ConfigMap.
    pub(crate) fn last(state: &State) -> Self {
        let mut state = state.clone();
        state.trial = state.trial.filter(|_| state.phase.is_unfinished());
        Heartbeat { beat: u64::MAX, holder: None, state }
    }
}
