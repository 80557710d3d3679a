//! A walk up the steps: move, hold, judge; on, back, or wait.

pub mod request;
mod state;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, bail, ensure};

pub use state::{Phase, Plan, State};

use crate::change::change;
use crate::display::Display;
use crate::gates::Gates;
use crate::judge::{ask, judge};
use crate::prometheus::{NoNumber, Prometheus};
use crate::run::request::Request;
use crate::{Decision, Judgement, Lock, Nginx, Share, Verdict, Wanted, current, metrics, record};

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
    check_queries(&gates, around.prometheus)?;
    let (event, state) = match State::load_unfinished(dir)? {
        Some(state) => ("resumed", resumed(dir, state, &plan)?),
        None => ("started", started(dir, plan)?),
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

/// A query that Prometheus does not take would make every step inconclusive; better to know now.
fn check_queries(gates: &Gates, prometheus: &Prometheus) -> anyhow::Result<()> {
    match prometheus.number("vector(1)") {
        Err(NoNumber::Away(_)) => return Ok(()), // the first step will say so
        Err(problem) => bail!("{problem}"),
        Ok(_) => {}
    }
    for gate in &gates.all {
        if let Err(NoNumber::Refused(problem)) = ask(gate, prometheus, Duration::from_secs(60)) {
            bail!("gate {:?}: {problem}", gate.name);
        }
    }
    Ok(())
}

fn started(dir: &Path, plan: Plan) -> anyhow::Result<State> {
    let start_share = current(dir)?.share_percent;
    let first = plan.steps.first().context("no steps")?;
    ensure!(
        *first > start_share,
        "the share is {start_share}%, and the first step, {first}%, is not above it; \
         `ramp set` moves it down"
    );
    Ok(State {
        run: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        plan,
        start_share,
        step: 0,
        phase: Phase::Holding,
        reason: String::new(),
        judgement: None,
    })
}

/// Where an unfinished run goes on.
fn resumed(dir: &Path, mut state: State, plan: &Plan) -> anyhow::Result<State> {
    let ways = "`ramp resume` goes on with it, `ramp abort` goes back to its start share";
    ensure!(state.plan == *plan, "a run with other steps or times has not ended ({state}); {ways}");
    let share = current(dir)?.share_percent;
    let stood = [state.share(), state.share_before(), state.start_share];
    ensure!(
        stood.contains(&share),
        "a run has not ended ({state}), but the share is {share}% by now, so it can't go on; \
         `ramp abort` goes back to its start share, `ramp set {share}` forgets it"
    );
    if state.phase != Phase::GoingBack {
        state.phase = Phase::Holding;
        state.reason = String::new();
    }
    state.judgement = None;
    Ok(state)
}

/// What a step led to.
enum Step {
    Passed,
    Failed(Judgement),
    Inconclusive(String),
    Asked,
    Interrupted,
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
            let share = current(self.dir())?.share_percent;
            return self.stay(Phase::Inconclusive, &format!("{problem}; nothing was moved"), share);
        }
        loop {
            let share = self.state.share();
            self.state.save(self.dir())?;
            match self.move_to(share) {
                Err(_) if self.is_interrupted() => return self.interrupt(),
                moved => moved?,
            }
            self.decide("moved", None)?;
            match self.hold()? {
                Step::Passed => {}
                Step::Failed(judgement) => {
                    self.state.reason = judgement.named(Verdict::Fail);
                    self.decide("failed", Some(&judgement))?;
                    return self.go_back(Phase::RolledBack);
                }
                Step::Inconclusive(why) => return self.stay(Phase::Inconclusive, &why, share),
                Step::Asked => {
                    self.state.reason = "asked for".to_owned();
                    return self.go_back(Phase::Aborted);
                }
                Step::Interrupted => return self.interrupt(),
            }
            let judgement = self.state.judgement.take();
            self.decide("passed", judgement.as_ref())?;
            if self.state.step + 1 == self.state.plan.steps.len() {
                return self.finish(judgement);
            }
            self.state.step += 1;
        }
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
            let next = Instant::now() + self.around.every;
            while Instant::now() < next {
                if self.is_interrupted() {
                    return Ok(Step::Interrupted);
                }
                match request::take(self.dir()) {
                    Some(Request::Abort) => return Ok(Step::Asked),
                    Some(Request::Pause) => self.pause()?,
                    Some(Request::Resume) => {
                        self.go_on()?;
                        began = Instant::now();
                    }
                    None => thread::sleep(LOOK),
                }
            }
        }
    }

    fn pause(&mut self) -> anyhow::Result<()> {
        self.state.phase = Phase::Paused;
        self.state.reason = "asked for".to_owned();
        self.decide("paused", None)
    }

    fn go_on(&mut self) -> anyhow::Result<()> {
        self.state.phase = Phase::Holding;
        self.state.reason = String::new();
        self.decide("went_on", None)
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

    fn interrupt(&mut self) -> anyhow::Result<Outcome> {
        let share = current(self.dir())?.share_percent;
        self.stay(Phase::Interrupted, "told to end; `ramp run` goes on", share)
    }

    fn stay(&mut self, phase: Phase, why: &str, share: Share) -> anyhow::Result<Outcome> {
        self.state.phase = phase;
        self.state.reason = why.to_owned();
        self.end_at(share)?;
        let interrupted = phase == Phase::Interrupted;
        Ok(if interrupted { Outcome::Interrupted } else { Outcome::Inconclusive })
    }

    fn finish(&mut self, judgement: Option<Judgement>) -> anyhow::Result<Outcome> {
        self.state.phase = Phase::Done;
        self.state.judgement = judgement;
        self.end_at(self.state.share())?;
        Ok(Outcome::Done)
    }

    /// The last decision.
    fn end_at(&mut self, share: Share) -> anyhow::Result<()> {
        self.save()?;
        self.log(self.state.phase.as_str(), share, None)?;
        let why = match self.state.reason.as_str() {
            "" => String::new(),
            reason => format!(": {reason}"),
        };
        self.display.say(&format!(
            "{}{why}. {share}% of /qrcode goes to qr-service.",
            self.state.phase.as_str().replace('_', " ")
        ));
        Ok(())
    }

    /// A decision at this step's share.
    fn decide(&mut self, event: &str, judgement: Option<&Judgement>) -> anyhow::Result<()> {
        self.save()?;
        let share = current(self.dir())?.share_percent;
        self.log(event, share, judgement)?;
        let (step, steps) = (self.state.step + 1, self.state.plan.steps.len());
        self.display.say(&format!("{}: step {step} of {steps}, {share}%", event.replace('_', " ")));
        Ok(())
    }

    fn log(
        &self,
        event: &str,
        share_percent: Share,
        judgement: Option<&Judgement>,
    ) -> anyhow::Result<()> {
        let decision = Decision {
            event,
            run: Some(&self.state.run),
            step: Some(self.state.step + 1),
            share_percent,
            reason: &self.state.reason,
            gates: judgement.map_or(&[], |judgement| &judgement.readings),
        };
        record(self.dir(), &decision)
    }

    fn show(&mut self, judgement: &Judgement, left: Duration) -> anyhow::Result<()> {
        self.display.step(&self.state, left, judgement);
        self.state.judgement = Some(judgement.clone());
        self.save()
    }

    fn save(&self) -> anyhow::Result<()> {
        self.state.save(self.dir())?;
        metrics::write(self.dir(), &current(self.dir())?, Some(&self.state))
    }

    fn is_interrupted(&self) -> bool {
        self.around.interrupted.load(Ordering::Relaxed)
    }
}
