//! Reports a run to the screen, the log, Prometheus and the webhooks, and saves its state for the next process.

use std::path::PathBuf;
use std::time::Duration;

use evidence::{Judgement, Verdict};

use crate::display::Display;
use crate::history::{self, History};
use crate::log::{Decision, Problem, record};
use crate::metrics;
use crate::nginx::Nginx;
use crate::prometheus::Prometheus;
use crate::split::current;
use crate::state::State;
use route::Share;

pub(super) struct Report<'a> {
    nginx: &'a Nginx,
    dir: PathBuf,
    display: Display,
    /// Problems with writing are only reported. They must not end the run, since a gate may still have to roll back.
    problem: Problem,
    /// The step for which the webhooks were last told that it waits.
    waited: Option<usize>,
    history: History,
    prometheus: &'a Prometheus,
}

impl<'a> Report<'a> {
    pub(super) fn new(nginx: &'a Nginx, prometheus: &'a Prometheus) -> Self {
        Report {
            nginx,
            dir: nginx.route_dir(),
            display: Display::new(),
            problem: Problem::default(),
            waited: None,
            history: History::default(),
            prometheus,
        }
    }

    /// Reports the end of the run's process.
    pub(super) fn end(&mut self, state: &State, share: Share) {
        let kept = self.nginx.keep(state).and_then(|()| metrics::write(&self.nginx.dir));
        self.problem.report(kept);
        let decision = Decision::of_run(state.phase.as_str(), share, state);
        self.problem.report(record(&self.dir, &decision));
        self.nginx.tell("end", Some(state), share, &state.reason);
        let reason = match state.reason.as_str() {
            "" => String::new(),
            reason => format!(": {reason}"),
        };
        self.display.say(&format!(
            "{}{reason}. {share}% of {} goes to the new side.",
            state.phase.as_str().replace('_', " "),
            self.nginx.route
        ));
        if state.phase.is_unfinished() {
            return;
        }
        let began = history::began(state);
        for class in history::classes(self.prometheus, &self.nginx.route, began) {
            self.display.say(&format!("  {class}"));
        }
        if let Some(file) = history::leave(self.nginx, state, share, Some(self.prometheus)) {
            self.display.say(&format!("Its report is {}.", file.display()));
        }
    }

    /// Says for how long a run that is done may still go back.
    pub(super) fn say_watched(&mut self, state: &State) {
        let watch = self.nginx.route_file().map(|route| route.file.ramp.watch);
        if let Some(watch) = watch.ok().filter(|watch| !watch.0.is_zero()) {
            let back = state.start_share;
            self.display.say(&format!("If it breaks within {watch}, {back}% goes to it again."));
        }
    }

    /// Reports an event at the current share.
    pub(super) fn event(&mut self, state: &State, event: &str, judgement: Option<&Judgement>) {
        if event == "started" {
            self.history.begin(&self.dir);
        }
        self.save(state);
        let share = current(&self.dir).map_or(state.share(), |split| split.share_percent);
        let gates = judgement.map_or(&[][..], |judgement| &judgement.readings);
        let decision = Decision { gates, ..Decision::of_run(event, share, state) };
        self.problem.report(record(&self.dir, &decision));
        match event {
            "started" => self.nginx.tell("begin", Some(state), share, &state.by.reason),
            "moved" => self.nginx.tell("step", Some(state), share, ""),
            _ => {}
        }
        let (step, steps) = (state.step + 1, state.plan.steps.len());
        self.display.say(&format!("{}: step {step} of {steps}, {share}%", event.replace('_', " ")));
    }

    /// Reports the state's judgement, with the time left in the step, and saves the state.
    pub(super) fn judgement(&mut self, state: &State, left: Duration) {
        if let Some(judgement) = &state.judgement {
            self.display.step(state, left, judgement);
            let waits = left.is_zero() && judgement.verdict == Verdict::Inconclusive;
            if waits && self.waited != Some(state.step) {
                self.waited = Some(state.step);
                let why = judgement.named(Verdict::Inconclusive);
                self.nginx.tell("waiting", Some(state), state.share(), &why);
            }
            let kept = self.history.add(&self.dir, state);
            self.problem.report(kept);
        }
        self.save(state);
    }

    /// Saves the state for the next process.
    pub(super) fn save(&mut self, state: &State) {
        let saved = state.save(&self.dir).and_then(|()| metrics::write(&self.nginx.dir));
        self.problem.report(saved);
    }
}
