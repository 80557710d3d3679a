//! What a run tells: whoever watches, the log, Prometheus, and whoever comes after it.

use std::time::Duration;

use super::Run;
use crate::{Decision, Judgement, Share, current, metrics, record};

impl Run<'_> {
    /// The last decision.
    pub(super) fn end_at(&mut self, share: Share) -> anyhow::Result<()> {
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
    pub(super) fn decide(
        &mut self,
        event: &str,
        judgement: Option<&Judgement>,
    ) -> anyhow::Result<()> {
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

    pub(super) fn show(&mut self, judgement: &Judgement, left: Duration) -> anyhow::Result<()> {
        self.display.step(&self.state, left, judgement);
        self.state.judgement = Some(judgement.clone());
        self.save()
    }

    pub(super) fn save(&self) -> anyhow::Result<()> {
        self.state.save(self.dir())?;
        metrics::write(self.dir(), &current(self.dir())?, Some(&self.state))
    }
}
