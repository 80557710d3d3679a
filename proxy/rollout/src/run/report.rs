//! Reports a run to the screen, the log, Prometheus and the next process.

use std::path::PathBuf;
use std::time::Duration;

use evidence::Judgement;

use crate::display::Display;
use crate::log::{Decision, Problem, record};
use crate::metrics;
use crate::nginx::Nginx;
use crate::split::current;
use crate::state::State;
use route::Share;

pub(super) struct Report<'a> {
    nginx: &'a Nginx,
    dir: PathBuf,
    display: Display,
    /// What cannot be written down ends no run: a gate may still send everything back.
    problem: Problem,
}

impl<'a> Report<'a> {
    pub(super) fn new(nginx: &'a Nginx) -> Self {
        let (dir, display, problem) = (nginx.route_dir(), Display::new(), Problem::default());
        Report { nginx, dir, display, problem }
    }

    /// Reports the end of the run's process.
    pub(super) fn end(&mut self, state: &State, share: Share) {
        let kept = self.nginx.keep(state).and_then(|()| metrics::write(&self.nginx.dir));
        self.problem.report(kept);
        self.log(state, state.phase.as_str(), share, None);
        let reason = match state.reason.as_str() {
            "" => String::new(),
            reason => format!(": {reason}"),
        };
        self.display.say(&format!(
            "{}{reason}. {share}% of {} goes to the new side.",
            state.phase.as_str().replace('_', " "),
            self.nginx.route
        ));
    }

    /// Reports an event at the current share.
    pub(super) fn event(&mut self, state: &State, event: &str, judgement: Option<&Judgement>) {
        self.save(state);
        let share = current(&self.dir).map_or(state.share(), |split| split.share_percent);
        self.log(state, event, share, judgement);
        let (step, steps) = (state.step + 1, state.plan.steps.len());
        self.display.say(&format!("{}: step {step} of {steps}, {share}%", event.replace('_', " ")));
    }

    /// Reports the state's judgement.
    pub(super) fn judgement(&mut self, state: &State, left: Duration) {
        if let Some(judgement) = &state.judgement {
            self.display.step(state, left, judgement);
        }
        self.save(state);
    }

    /// Saves the state for the next process.
    pub(super) fn save(&mut self, state: &State) {
        let saved = state.save(&self.dir).and_then(|()| metrics::write(&self.nginx.dir));
        self.problem.report(saved);
    }

    fn log(
        &mut self,
        state: &State,
        event: &str,
        share_percent: Share,
        judgement: Option<&Judgement>,
    ) {
        let gates = judgement.map_or(&[][..], |judgement| &judgement.readings);
        let decision = Decision { gates, ..Decision::of_run(event, share_percent, state) };
        self.problem.report(record(&self.dir, &decision));
    }
}
