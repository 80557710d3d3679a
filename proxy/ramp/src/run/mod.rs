//! A walk up the steps: move, hold, judge; on, back, or wait.

mod begin;
mod report;
pub mod request;
mod state;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

pub use state::{Phase, Plan, State};

use crate::change::change;
use crate::display::Display;
use crate::gates::Gates;
use crate::judge::judge;
use crate::prometheus::{NoNumber, Prometheus};
use crate::run::request::Request;
use crate::{Judgement, Lock, Nginx, Share, Verdict, Wanted, current};

/// Between two looks for a request or a signal.
const LOOK: Duration = Duration::from_millis(100);
/// Going back is tried again: what made a gate fail may make nginx slow as well.
const TRIES_TO_GO_BACK: usize = 3;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every step has passed.
    Done,
    /// A gate failed; the start share is back.
    RolledBack,
    /// Too little to judge by; the share stays.
    Inconclusive,
    /// Somebody asked for it; the start share is back.
    Aborted,
    /// The process was told to end; the share stays.
    Interrupted,
}

/// What a run needs.
#[derive(Debug)]
pub struct Surroundings<'a> {
    /// Whose split it moves.
    pub nginx: &'a Nginx,
    /// The right to.
    pub lock: &'a Lock,
    /// Who is asked.
    pub prometheus: &'a Prometheus,
    /// Time between two judgements.
    pub every: Duration,
    /// Set when the process is told to end.
    pub interrupted: &'a AtomicBool,
}

/// Starts a run, or goes on with the one that has not ended.
///
/// # Errors
/// Why it does neither, or where the split can't be moved.
pub fn run(around: &Surroundings<'_>, plan: Plan) -> anyhow::Result<Outcome> {
    let dir = &around.nginx.dir;
    let gates = Gates::load(plan.gates.as_deref())?;
    begin::check_queries(&gates, around.prometheus)?;
    let (event, state) = match State::load_unfinished(dir)? {
        Some(state) => ("resumed", begin::resumed(dir, state, &plan)?),
        None => ("started", begin::started(dir, plan)?),
    };
    request::clear(dir);
    let mut run = Run { around, gates, state, display: Display::new() };
    let going_back = run.state.phase == Phase::GoingBack;
    run.decide(event, None)?;
    match going_back {
        true => run.go_back(Phase::RolledBack),
        false => run.climb(),
    }
}

/// Takes the unfinished run back to its start share, where no process is at it.
///
/// # Errors
/// Where there is none, or the split can't be moved.
pub fn abort(around: &Surroundings<'_>) -> anyhow::Result<Outcome> {
    let state = State::load_unfinished(&around.nginx.dir)?;
    let state = state.context("no run is under way")?;
    // Whatever its gates are by now: going back asks none.
    let gates = Gates { overlap: Duration::ZERO, all: Vec::new() };
    let mut run = Run { around, gates, state, display: Display::new() };
    run.state.reason = "asked for".to_owned();
    run.go_back(Phase::Aborted)
}

/// What a step led to.
enum Step {
    Passed,
    Failed(Judgement),
    Inconclusive(String),
    Asked,
    Interrupted,
}

/// What waiting led to.
enum Wait {
    Over,
    /// The step begins again.
    Anew,
    End(Step),
}

struct Run<'a> {
    around: &'a Surroundings<'a>,
    gates: Gates,
    state: State,
    display: Display,
}

impl Run<'_> {
    fn dir(&self) -> &Path {
        &self.around.nginx.dir
    }

    fn climb(&mut self) -> anyhow::Result<Outcome> {
        if self.state.step == 0
            && let Err(problem @ NoNumber::Away(_)) = self.around.prometheus.number("vector(1)")
        {
            return self.stay(Phase::Inconclusive, &format!("{problem}; nothing was moved"));
        }
        loop {
            match self.step()? {
                Step::Passed => {}
                Step::Failed(judgement) => {
                    self.state.reason = judgement.named(Verdict::Fail);
                    self.decide("failed", Some(&judgement))?;
                    return self.go_back(Phase::RolledBack);
                }
                Step::Inconclusive(why) => return self.stay(Phase::Inconclusive, &why),
                Step::Asked => {
                    self.state.reason = "asked for".to_owned();
                    return self.go_back(Phase::Aborted);
                }
                Step::Interrupted => {
                    return self.stay(Phase::Interrupted, "told to end; `ramp run` goes on");
                }
            }
            let judgement = self.state.judgement.take();
            self.decide("passed", judgement.as_ref())?;
            if self.state.step + 1 == self.state.plan.steps.len() {
                self.state.judgement = judgement;
                self.state.phase = Phase::Done;
                self.end_at(self.state.share())?;
                return Ok(Outcome::Done);
            }
            self.state.step += 1;
        }
    }

    /// Moves to the step's share and holds it. What is written first is what the step will be, so
    /// that whoever comes after a kill in between finds the share before it, or this one.
    fn step(&mut self) -> anyhow::Result<Step> {
        self.state.save(self.dir())?;
        match self.move_to(self.state.share()) {
            Err(_) if self.is_interrupted() => return Ok(Step::Interrupted),
            moved => moved?,
        }
        self.decide("moved", None)?;
        self.hold()
    }

    /// Holds a step until its time is over and there is a verdict.
    fn hold(&mut self) -> anyhow::Result<Step> {
        let Plan { hold, patience, .. } = self.state.plan;
        let mut began = Instant::now();
        loop {
            let elapsed = began.elapsed();
            let judgement = judge(&self.gates, self.around.prometheus, elapsed, elapsed >= hold);
            self.show(&judgement, hold.saturating_sub(elapsed))?;
            match judgement.verdict {
                Verdict::Fail => return Ok(Step::Failed(judgement)),
                _ if self.state.phase == Phase::Paused => {}
                Verdict::Pass if elapsed >= hold => return Ok(Step::Passed),
                Verdict::Inconclusive if elapsed >= hold + patience => {
                    return Ok(Step::Inconclusive(judgement.named(Verdict::Inconclusive)));
                }
                _ => {}
            }
            match self.wait()? {
                Wait::Over => {}
                Wait::Anew => began = Instant::now(),
                Wait::End(step) => return Ok(step),
            }
        }
    }

    /// Until it is time to judge again, or somebody wants something.
    fn wait(&mut self) -> anyhow::Result<Wait> {
        let next = Instant::now() + self.around.every;
        while Instant::now() < next {
            if self.is_interrupted() {
                return Ok(Wait::End(Step::Interrupted));
            }
            match request::take(self.dir()) {
                None => thread::sleep(LOOK),
                Some(Request::Abort) => return Ok(Wait::End(Step::Asked)),
                Some(Request::Pause) => {
                    self.state.phase = Phase::Paused;
                    self.state.reason = "asked for".to_owned();
                    self.decide("paused", None)?;
                }
                Some(Request::Resume) => {
                    self.state.phase = Phase::Holding;
                    self.state.reason = String::new();
                    self.decide("went_on", None)?;
                    return Ok(Wait::Anew);
                }
            }
        }
        Ok(Wait::Over)
    }

    fn move_to(&mut self, share: Share) -> anyhow::Result<()> {
        let Surroundings { nginx, lock, interrupted, .. } = self.around;
        let there = current(&nginx.dir)?;
        if there.share_percent == share && nginx.served().is_ok_and(|served| served == there) {
            return Ok(()); // resumed: no reload for nothing
        }
        change(nginx, lock, &Wanted::share(share), interrupted).map(drop)
    }

    fn go_back(&mut self, phase: Phase) -> anyhow::Result<Outcome> {
        self.state.phase = Phase::GoingBack;
        self.state.save(self.dir())?;
        let share = self.state.start_share;
        let Surroundings { nginx, lock, .. } = self.around;
        // Told to end in the middle of it, it goes back all the same.
        let uninterrupted = AtomicBool::new(false);
        let mut tries = 0;
        while let Err(error) = change(nginx, lock, &Wanted::share(share), &uninterrupted) {
            tries += 1;
            if tries == TRIES_TO_GO_BACK {
                let why = &self.state.reason;
                bail!("{why}; the share could not be set back to {share}%: {error:#}");
            }
            thread::sleep(Duration::from_secs(1));
        }
        self.state.phase = phase;
        self.end_at(share)?;
        Ok(if phase == Phase::Aborted { Outcome::Aborted } else { Outcome::RolledBack })
    }

    fn stay(&mut self, phase: Phase, why: &str) -> anyhow::Result<Outcome> {
        self.state.phase = phase;
        self.state.reason = why.to_owned();
        self.end_at(current(self.dir())?.share_percent)?;
        let interrupted = phase == Phase::Interrupted;
        Ok(if interrupted { Outcome::Interrupted } else { Outcome::Inconclusive })
    }

    fn is_interrupted(&self) -> bool {
        self.around.interrupted.load(Ordering::Relaxed)
    }
}
