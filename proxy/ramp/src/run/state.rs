//! Where a run stands: `ramp.json`, written before and after every move, so that whoever comes after
//! a killed run knows what it was at.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::{Judgement, Share, files};

/// What a run was told to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The shares, one after the other.
    pub steps: Vec<Share>,
    /// How long each is held.
    pub hold: Duration,
    /// How much longer where there is too little to judge by.
    pub patience: Duration,
    /// A file of gates; the program's own where there is none.
    pub gates: Option<PathBuf>,
}

/// What a run is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// It holds a step, and judges.
    Holding,
    /// It stays at a step, as somebody asked; gates may still roll it back.
    Paused,
    /// It stays at a step, since there was too little to judge by; its process has ended.
    Inconclusive,
    /// It stays at a step; its process was told to end.
    Interrupted,
    /// It goes back to the start share.
    GoingBack,
    /// Every step has passed.
    Done,
    /// A gate failed; it is back at the start share.
    RolledBack,
    /// Somebody asked for it; it is back at the start share.
    Aborted,
    /// Somebody set the share by hand, after its process had ended.
    Superseded,
}

impl Phase {
    /// Every phase.
    pub const ALL: [Phase; 9] = [
        Phase::Holding,
        Phase::Paused,
        Phase::Inconclusive,
        Phase::Interrupted,
        Phase::GoingBack,
        Phase::Done,
        Phase::RolledBack,
        Phase::Aborted,
        Phase::Superseded,
    ];

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Holding => "holding",
            Phase::Paused => "paused",
            Phase::Inconclusive => "inconclusive",
            Phase::Interrupted => "interrupted",
            Phase::GoingBack => "going_back",
            Phase::Done => "done",
            Phase::RolledBack => "rolled_back",
            Phase::Aborted => "aborted",
            Phase::Superseded => "superseded",
        }
    }

    /// Whether there is something left to do.
    pub fn is_unfinished(self) -> bool {
        !matches!(self, Phase::Done | Phase::RolledBack | Phase::Aborted | Phase::Superseded)
    }
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Its name in the log: when it began.
    pub run: String,
    /// What it was told to do.
    pub plan: Plan,
    /// What it goes back to.
    pub start_share: Share,
    /// Which step, from 0.
    pub step: usize,
    /// What it is at.
    pub phase: Phase,
    /// Why, in words.
    pub reason: String,
    /// The step as last judged.
    pub judgement: Option<Judgement>,
}

impl State {
    fn file(nginx_dir: &Path) -> PathBuf {
        nginx_dir.join("ramp.json")
    }

    /// The last run; `None` before the first.
    ///
    /// # Errors
    /// Where it can't be read.
    pub fn load(nginx_dir: &Path) -> anyhow::Result<Option<State>> {
        let file = State::file(nginx_dir);
        let Some(text) = files::read_if_there(&file)? else { return Ok(None) };
        serde_json::from_str(&text).map(Some).with_context(|| file.display().to_string())
    }

    /// The last run, where it has something left to do.
    ///
    /// # Errors
    /// Where it can't be read.
    pub fn load_unfinished(nginx_dir: &Path) -> anyhow::Result<Option<State>> {
        Ok(State::load(nginx_dir)?.filter(|state| state.phase.is_unfinished()))
    }

    pub(crate) fn save(&self, nginx_dir: &Path) -> anyhow::Result<()> {
        files::replace(&State::file(nginx_dir), &serde_json::to_string_pretty(self)?)
    }

    /// Ends it.
    ///
    /// # Errors
    /// Where that can't be written.
    pub fn end(&mut self, nginx_dir: &Path, phase: Phase, reason: &str) -> anyhow::Result<()> {
        self.phase = phase;
        self.reason = reason.to_owned();
        self.save(nginx_dir)
    }

    /// The step's share.
    pub fn share(&self) -> Share {
        self.plan.steps.get(self.step).copied().unwrap_or(self.start_share)
    }

    /// The share before the step's.
    pub fn share_before(&self) -> Share {
        let before = self.step.checked_sub(1).and_then(|step| self.plan.steps.get(step));
        before.copied().unwrap_or(self.start_share)
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
