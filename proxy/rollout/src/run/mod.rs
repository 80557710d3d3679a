//! Runs the steps: sets a share, holds it and judges it; then goes to the next step, rolls back, or waits.

mod begin;
mod order;
mod report;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anstream::eprintln;
use anyhow::{Context, bail, ensure};
use evidence::gates::Gates;
use evidence::trial::Trial;
use evidence::{Judgement, Reading, Verdict};

use crate::change::change;
use crate::judge::{gates, judge, readings};
use crate::lock::Lock;
use crate::nginx::Nginx;
use crate::prometheus::{NoNumber, Prometheus, seconds};
use crate::pulse::Pulse;
use crate::samples::Sampler;
use crate::split::{SplitChange, current};
use crate::state::{Back, Confirmation, Phase, Plan, Request, RunRequest, State};
use crate::{stop, stop_file};
pub use order::{attend, order};
use report::Report;
use route::Share;

/// How often to check for a request or a signal.
const LOOK: Duration = Duration::from_millis(100);
/// How often a rollback is tried: the fault that caused it may also make nginx slow.
const TRIES_TO_GO_BACK: usize = 3;

/// The surroundings of a run.
#[derive(Debug)]
pub struct Surroundings<'a> {
    /// The nginx whose split moves.
    pub nginx: &'a Nginx,
    /// The lock that allows changing the split.
    pub lock: &'a Lock,
    /// The source of the gates' values.
    pub prometheus: &'a Prometheus,
    /// The time between two judgements.
    pub every: Duration,
    /// Set once a signal asks this process to end.
    pub interrupted: &'a AtomicBool,
    /// The folder of the run's report; `None` for the route's own.
    pub report: Option<PathBuf>,
}

/// Starts a run, or resumes the unfinished one. Returns the phase in which it ends or stops. Fails if the run cannot
/// start or resume, or the split cannot be changed.
pub fn run(around: &Surroundings<'_>, plan: Plan) -> anyhow::Result<Phase> {
    let dir = &around.nginx.route_dir();
    let unfinished = State::load_unfinished(dir)?;
    // A run that is going back has braked the route itself.
    if !unfinished.as_ref().is_some_and(|state| state.phase == Phase::GoingBack) {
        stop::refuse(around.nginx)?;
    }
    stop_file::reserve(&around.nginx.dir, &around.nginx.route)?;
    let route = around.nginx.route_file()?;
    let gates = gates(plan.gates.as_deref(), &route)?;
    begin::check_queries(&gates, around.prometheus)?;
    let (by, lease) = (&around.nginx.by, route.file.ramp.lease.0);
    let (event, state) = match unfinished {
        Some(state) => ("resumed", begin::resumed(dir, state, &plan, lease, Some(by))?),
        None => ("started", begin::started(dir, plan, &route, by)?),
    };
    let _ = around.nginx.store.ask(None); // discards a request to an earlier run
    let mut run = Run::new(around, gates, state);
    run.report.event(&run.state, event, None);
    run.go_on()
}

/// Carries on an unfinished run that this process has taken over: starts an ordered run, and keeps a paused run paused.
/// Returns the phase in which it ends or stops. Fails if the run cannot go on, or the split cannot be changed.
pub fn carry_on(around: &Surroundings<'_>) -> anyhow::Result<Phase> {
    let dir = &around.nginx.route_dir();
    let state = State::load_unfinished(dir)?.context("there is no unfinished run")?;
    let (phase, route) = (state.phase, around.nginx.route_file()?);
    if phase != Phase::GoingBack && stop::in_force(around.nginx)?.is_some() {
        return Ok(Run::new(around, Gates::default(), state).stopped());
    }
    let gates = gates(state.plan.gates.as_deref(), &route)?;
    let plan = state.plan.clone();
    let mut state = begin::resumed(dir, state, &plan, route.file.ramp.lease.0, None)?;
    if phase == Phase::Paused {
        (state.phase, state.reason) = (Phase::Paused, state.asked.on_request());
    }
    let is_new = phase == Phase::Ordered && state.trial.is_none();
    let mut run = Run::new(around, gates, state);
    run.report.event(&run.state, if is_new { "started" } else { "resumed" }, None);
    run.go_on()
}

/// Ends an unfinished run that has no process, at its start share or at 0%. Fails if there is no such run, or the split
/// cannot be changed.
pub fn abort(around: &Surroundings<'_>, back: Back) -> anyhow::Result<Phase> {
    let dir = &around.nginx.route_dir();
    let state = State::load_unfinished(dir)?.context("there is no unfinished run")?;
    // A rollback needs no gates, so their file is not even read.
    let mut run = Run::new(around, Gates::default(), state);
    run.state.asked = around.nginx.by.clone();
    run.abort(back)
}

/// Sends a request and waits until the run has taken it. A run checks for requests several times a second, unless it
/// waits for nginx or Prometheus. Fails if the run does not take it within `patience`.
pub fn request(nginx: &Nginx, request: Request, patience: Duration) -> anyhow::Result<()> {
    nginx.store.ask(Some(&RunRequest { request, by: nginx.by.clone() }))?;
    let deadline = Instant::now() + patience;
    while nginx.store.is_asked().unwrap_or(true) {
        if Instant::now() > deadline {
            // Withdraws the request, so that a later run does not find it.
            let _ = nginx.store.ask(None);
            bail!("the run does not answer");
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// Asks the process of an unfinished run to go back, to its start share or to 0%, and waits until it has ended. Returns
/// the share that is then set. Fails if the process does not end within `patience`.
pub fn end(nginx: &Nginx, back: Back, patience: Duration) -> anyhow::Result<Share> {
    let deadline = Instant::now() + patience;
    request(nginx, Request::Abort(back), patience)?;
    while let Some(holder) = nginx.holder()? {
        ensure!(
            Instant::now() < deadline,
            "the run has not ended after {patience:?}: {holder}; `carve rollback` sends every request to \
             the old side without it"
        );
        thread::sleep(LOOK);
    }
    Ok(nginx.store.wanted()?.share_percent)
}

/// The outcome of a step.
enum Step {
    Passed,
    Failed(Judgement),
    Inconclusive(String),
    Aborted(Back),
    Stopped,
    Interrupted,
}

/// The outcome of waiting for the next judgement.
enum Wait {
    Over,
    /// The step starts again.
    Restart,
    End(Step),
}

struct Run<'a> {
    around: &'a Surroundings<'a>,
    gates: Gates,
    state: State,
    report: Report<'a>,
    pulse: Pulse,
    sampler: Sampler,
    /// When Prometheus last reported new requests to the new side.
    last_growth: Instant,
    /// When every gate last had a value.
    last_whole: Instant,
    /// The value of each gate, and since when it has not grown.
    waited: BTreeMap<String, (f64, Instant)>,
}

impl<'a> Run<'a> {
    fn new(around: &'a Surroundings<'a>, gates: Gates, state: State) -> Self {
        let state = State { report: around.report.clone().or(state.report), ..state };
        Run {
            around,
            report: Report::new(around.nginx, around.prometheus),
            pulse: Pulse::start(around.nginx),
            sampler: Sampler::new(&around.nginx.route, &gates),
            gates,
            state,
            last_growth: Instant::now(),
            last_whole: Instant::now(),
            waited: BTreeMap::new(),
        }
    }

    fn go_on(&mut self) -> anyhow::Result<Phase> {
        match self.state.phase {
            Phase::GoingBack => self.go_back(Phase::RolledBack, None),
            _ => self.climb(),
        }
    }

    fn climb(&mut self) -> anyhow::Result<Phase> {
        // Only a run that has not moved anything yet ends here. Others wait for data as part of their step.
        if self.state.step == 0
            && self.state.judged.is_none()
            && let Err(problem @ NoNumber::Away(_)) = self.around.prometheus.number("vector(1)")
        {
            if self.is_stopped() {
                return Ok(self.stopped());
            }
            return Ok(self.stay(Phase::Inconclusive, &format!("{problem}; nothing moved")));
        }
        loop {
            match self.step()? {
                // The route was stopped while Prometheus answered, or while this process was delayed.
                Step::Passed | Step::Inconclusive(_) if self.is_stopped() => {
                    return Ok(self.stopped());
                }
                Step::Passed => {}
                Step::Failed(judgement) => {
                    self.state.reason = judgement.named(Verdict::Fail);
                    return self.go_back(Phase::RolledBack, Some(&judgement));
                }
                Step::Inconclusive(why) => return Ok(self.stay(Phase::Inconclusive, &why)),
                Step::Aborted(back) => return self.abort(back),
                Step::Stopped => return Ok(self.stopped()),
                Step::Interrupted => {
                    let is_paused = self.state.phase == Phase::Paused;
                    // On a cluster another process takes the run over and keeps it paused. On one machine a person
                    // resumes it, and wants it to go on.
                    if is_paused && self.around.nginx.store.claim().is_some() {
                        let why = self.state.reason.clone();
                        return Ok(self.stay(Phase::Paused, &why));
                    }
                    let why = "ended by a signal; `carve ramp` resumes it";
                    return Ok(self.stay(Phase::Interrupted, why));
                }
            }
            let judgement = self.state.judgement.take();
            self.report.event(&self.state, "passed", judgement.as_ref());
            if self.state.step + 1 == self.state.plan.steps.len() {
                self.state.judgement = judgement;
                self.let_go();
                self.state.phase = Phase::Done;
                self.report.end(&self.state, self.state.share());
                self.report.say_watched(&self.state);
                return Ok(Phase::Done);
            }
            self.state.step += 1;
            self.state.held = Duration::ZERO;
            if let Some(trial) = &mut self.state.trial {
                trial.next_step();
            }
        }
    }

    /// Judges the step by its gates and by the evidence of the run so far.
    fn judge(&mut self, step: Duration, at_the_end: bool) -> anyhow::Result<Judgement> {
        let judgement = judge(&self.gates, self.around.prometheus, step, at_the_end);
        let steps = self.state.plan.steps.len();
        let trial = self.state.trial.get_or_insert_with(|| Trial::new(&self.gates, steps));
        let split = current(&self.around.nginx.route_dir())?;
        let (before, counted) = (trial.asked(), self.sampler.take(self.around.prometheus));
        let readings = readings(trial, &self.gates, &split, counted);
        if trial.asked() > before {
            self.last_growth = Instant::now();
        }
        Ok(judgement.with(readings))
    }

    /// Sets the step's share and holds it. Saves the step first, so that a run killed in between finds the share of
    /// this step or of the one before, and can resume from both.
    fn step(&mut self) -> anyhow::Result<Step> {
        if self.is_stopped() {
            return Ok(Step::Stopped);
        }
        self.state.save(&self.around.nginx.route_dir())?;
        match self.move_to(self.state.share()) {
            Err(_) if self.is_interrupted() => return Ok(Step::Interrupted),
            Err(_) if self.is_stopped() => return Ok(Step::Stopped),
            moved => moved?,
        }
        self.report.event(&self.state, "moved", None);
        self.hold()
    }

    /// Holds a step until it passes, fails, or has waited too long for data.
    fn hold(&mut self) -> anyhow::Result<Step> {
        let Plan { hold, patience, .. } = self.state.plan;
        let (mut before, mut began) = (self.state.held, Instant::now());
        loop {
            let elapsed = before + began.elapsed();
            (self.state.held, self.state.judged) = (elapsed, Some(SystemTime::now()));
            self.state.hold_ends = Some(SystemTime::now() + hold.saturating_sub(elapsed));
            let judgement = self.judge(elapsed, elapsed >= hold)?;
            self.state.judgement = Some(judgement.clone());
            self.note_growth(&judgement);
            self.report.judgement(&self.state, hold.saturating_sub(elapsed));
            match judgement.verdict {
                Verdict::Fail => return Ok(Step::Failed(judgement)),
                _ if self.state.phase == Phase::Paused => {}
                Verdict::Pass if elapsed >= hold && self.state.needs_person() => {
                    self.state.confirmation = Confirmation::Asked;
                    self.pause("the step has passed; `carve resume` begins the last one");
                }
                Verdict::Pass if elapsed >= hold => return Ok(Step::Passed),
                // A proof may take longer than `patience`, as long as new requests arrive.
                Verdict::Inconclusive
                    if elapsed >= hold + patience
                        && began.elapsed() >= patience // a process that has just taken over has no data yet
                        && (self.is_stuck(&judgement)
                            || self.last_whole.min(self.last_growth).elapsed() >= patience) =>
                {
                    return Ok(Step::Inconclusive(judgement.named(Verdict::Inconclusive)));
                }
                _ => {}
            }
            match self.wait()? {
                Wait::Over => {}
                Wait::Restart => (before, began) = (Duration::ZERO, Instant::now()),
                Wait::End(step) => return Ok(step),
            }
        }
    }

    /// Records when all gates had values, and when a gate's value last changed. Prometheus extrapolates, so changes of
    /// less than 1 do not count.
    fn note_growth(&mut self, judgement: &Judgement) {
        let lacks = |it: &Reading| it.verdict == Verdict::Inconclusive && it.detail.is_empty();
        if !judgement.readings.iter().any(lacks) {
            self.last_whole = Instant::now();
        }
        for reading in judgement.readings.iter().filter(|reading| reading.difference.is_none()) {
            let Some(value) = reading.value else { continue };
            let waited = self.waited.entry(reading.gate.clone());
            let (before, since) = waited.or_insert((value, Instant::now()));
            if (value - *before).abs() >= 1.0 {
                (*before, *since) = (value, Instant::now());
            }
        }
    }

    /// Whether a gate waits for data that no longer arrives.
    fn is_stuck(&self, judgement: &Judgement) -> bool {
        let is_stuck = |reading: &Reading| {
            let waited = self.waited.get(&reading.gate);
            !reading.compare.is_empty()
                && waited.is_some_and(|(_, since)| since.elapsed() >= self.state.plan.patience)
        };
        let waits = |reading: &&Reading| reading.verdict == Verdict::Inconclusive;
        judgement.readings.iter().filter(waits).any(is_stuck)
    }

    /// Waits until the next judgement, a request, a stop or a signal.
    fn wait(&mut self) -> anyhow::Result<Wait> {
        let next = Instant::now() + self.around.every;
        while Instant::now() < next {
            self.pulse.alive();
            if self.is_interrupted() {
                return Ok(Wait::End(Step::Interrupted));
            }
            let heard = self.around.nginx.store.heard();
            if heard.is_stopped {
                return Ok(Wait::End(Step::Stopped));
            }
            ensure!(!heard.is_taken, "another process has taken the run over");
            let Some(RunRequest { request, by }) = self.around.nginx.store.take_request() else {
                thread::sleep(LOOK);
                continue;
            };
            self.state.asked = by;
            match request {
                Request::Abort(back) => return Ok(Wait::End(Step::Aborted(back))),
                Request::Pause => self.pause(&self.state.asked.on_request()),
                Request::Resume => {
                    let is_asked = self.state.confirmation == Confirmation::Asked;
                    self.state.phase = Phase::Holding;
                    self.state.reason = String::new();
                    self.report.event(&self.state, "went_on", None);
                    if is_asked {
                        self.state.confirmation = Confirmation::Given;
                        return Ok(Wait::Over);
                    }
                    return Ok(Wait::Restart);
                }
            }
        }
        Ok(Wait::Over)
    }

    fn pause(&mut self, why: &str) {
        self.state.phase = Phase::Paused;
        why.clone_into(&mut self.state.reason);
        self.report.event(&self.state, "paused", None);
    }

    fn move_to(&mut self, share: Share) -> anyhow::Result<()> {
        let Surroundings { nginx, lock, interrupted, .. } = self.around;
        let there = current(&nginx.route_dir())?;
        if there.share_percent == share
            && there.is_held
            && nginx.served().is_ok_and(|served| served == there)
        {
            return Ok(()); // a resumed run needs no reload
        }
        let wanted = SplitChange { held: Some(true), ..SplitChange::share(share) };
        change(nginx, lock, &wanted, interrupted).map(drop)?;
        let steps = self.state.plan.steps.len();
        let trial = self.state.trial.get_or_insert_with(|| Trial::new(&self.gates, steps));
        trial.moved(seconds(SystemTime::now()));
        Ok(())
    }

    /// Marks the last share as no longer held by a run. If this fails, answers stay cached for at most a minute until
    /// the next change, which does not justify undoing the run.
    fn let_go(&self) {
        let Surroundings { nginx, lock, .. } = self.around;
        let wanted = SplitChange { held: Some(false), ..SplitChange::default() };
        if let Err(problem) = change(nginx, lock, &wanted, &AtomicBool::new(false)) {
            eprintln!(
                "carve: until the next change, answers are cached for at most a minute: {problem:#}"
            );
        }
    }

    fn abort(&mut self, back: Back) -> anyhow::Result<Phase> {
        self.state.reason = self.state.asked.on_request();
        if back == Back::Old {
            self.state.start_share = Share::NONE;
        }
        self.go_back(Phase::Aborted, None)
    }

    /// Returns to the start share, and ends in `phase`. `failed` is the judgement that caused it.
    fn go_back(&mut self, phase: Phase, failed: Option<&Judgement>) -> anyhow::Result<Phase> {
        let Surroundings { nginx, lock, .. } = self.around;
        if let Err(problem) = stop::brake(nginx, &self.state.reason) {
            eprintln!("carve: {problem:#}");
        }
        nginx.tell("rollback", Some(&self.state), Share::NONE, &self.state.reason);
        if failed.is_some() {
            self.report.event(&self.state, "failed", failed);
        }
        self.state.phase = Phase::GoingBack;
        self.report.save(&self.state);
        let share = self.state.start_share;
        // A signal must not interrupt a rollback, so this flag is never set.
        let uninterrupted = AtomicBool::new(false);
        let mut tries = 0;
        while let Err(error) = change(nginx, lock, &SplitChange::share(share), &uninterrupted) {
            tries += 1;
            if tries == TRIES_TO_GO_BACK {
                let why = &self.state.reason;
                let problem = format!("{why}; the rollback to {share}% failed: {error:#}");
                stop::stop(nginx, &problem)
                    .with_context(|| format!("{problem}; so did the stop"))?;
                self.state.phase = Phase::Stopped;
                self.state.reason = problem;
                self.report.end(&self.state, Share::NONE);
                return Ok(Phase::Stopped);
            }
            thread::sleep(Duration::from_secs(1));
        }
        if let Err(problem) = stop::release(nginx) {
            eprintln!("carve: {share}% is set, but the route stays stopped: {problem:#}");
        }
        self.state.phase = phase;
        self.report.end(&self.state, share);
        Ok(phase)
    }

    fn stopped(&mut self) -> Phase {
        self.state.phase = Phase::Stopped;
        self.state.reason = "the route was stopped".to_owned();
        self.report.end(&self.state, Share::NONE);
        Phase::Stopped
    }

    fn stay(&mut self, phase: Phase, why: &str) -> Phase {
        self.state.phase = phase;
        self.state.reason = why.to_owned();
        let split = current(&self.around.nginx.route_dir());
        self.report.end(&self.state, split.map_or(self.state.share(), |split| split.share_percent));
        phase
    }

    fn is_stopped(&self) -> bool {
        self.around.nginx.store.heard().is_stopped
    }

    fn is_interrupted(&self) -> bool {
        self.around.interrupted.load(Ordering::Relaxed)
    }
}
