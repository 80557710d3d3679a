//! What has to hold before a run moves anything.

use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context, bail, ensure};

use super::{Phase, Plan, State};
use crate::current;
use crate::gates::Gates;
use crate::judge::ask;
use crate::prometheus::{NoNumber, Prometheus};

/// A query that Prometheus does not take would make every step inconclusive; better to know now.
pub(super) fn check_queries(gates: &Gates, prometheus: &Prometheus) -> anyhow::Result<()> {
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

/// A new run, from the share that is there.
pub(super) fn started(dir: &Path, plan: Plan) -> anyhow::Result<State> {
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
pub(super) fn resumed(dir: &Path, mut state: State, plan: &Plan) -> anyhow::Result<State> {
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
