//! Reports a run to the screen, the log, Prometheus and the next process.

use std::path::PathBuf;
use std::time::Duration;

use evidence::Judgement;

use crate::display::Display;
use crate::log::{Decision, record};
use crate::metrics;
use crate::nginx::Nginx;
use crate::split::current;
use crate::state::State;
use route::Share;

pub(super) struct Report<'a> {
    nginx: &'a Nginx,
    dir: PathBuf,
    display: Display,
}

impl<'a> Report<'a> {
    pub(super) fn new(nginx: &'a Nginx) -> Self {
        Report { nginx, dir: nginx.route_dir(), display: Display::new() }
    }

    /// Reports the end of the run's process.
    pub(super) fn end(&mut self, state: &State, share: Share) -> anyhow::Result<()> {
        self.nginx.keep(state)?;
        metrics::write(&self.nginx.dir)?;
        self.log(state, state.phase.as_str(), share, None)?;
        let reason = match state.reason.as_str() {
            "" => String::new(),
            reason => format!(": {reason}"),
        };
        self.display.say(&format!(
            "{}{reason}. {share}% of {} goes to the new side.",
            state.phase.as_str().replace('_', " "),
            self.nginx.route
        ));
        Ok(())
    }

    /// Reports an event at the current share.
    pub(super) fn event(
        &mut self,
        state: &State,
        event: &str,
        judgement: Option<&Judgement>,
    ) -> anyhow::Result<()> {
        self.save(state)?;
        let share = current(&self.dir)?.share_percent;
        self.log(state, event, share, judgement)?;
        let (step, steps) = (state.step + 1, state.plan.steps.len());
        self.display.say(&format!("{}: step {step} of {steps}, {share}%", event.replace('_', " ")));
        Ok(())
    }

    /// Reports the state's judgement.
    pub(super) fn judgement(&mut self, state: &State, left: Duration) -> anyhow::Result<()> {
        if let Some(judgement) = &state.judgement {
            self.display.step(state, left, judgement);
        }
        self.save(state)
    }

    fn save(&self, state: &State) -> anyhow::Result<()> {
        state.save(&self.dir)?;
        metrics::write(&self.nginx.dir)
    }

    fn log(
        &self,
        state: &State,
        event: &str,
        share_percent: Share,
        judgement: Option<&Judgement>,
    ) -> anyhow::Result<()> {
        let decision = Decision {
            event,
            run: Some(&state.run),
            step: Some(state.step + 1),
            share_percent,
            reason: &state.reason,
            gates: judgement.map_or(&[], |judgement| &judgement.readings),
        };
        record(&self.dir, &decision)
    }
}
