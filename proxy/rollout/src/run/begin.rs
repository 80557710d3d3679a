//! The checks before a run moves anything.

use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context, bail, ensure};
use evidence::gates::Gates;
use route::Route;

use crate::files::hash;
use crate::judge::ask;
use crate::prometheus::{NoNumber, Prometheus};
use crate::split::current;
use crate::state::{By, Confirmation, Phase, Plan, State};

/// Refuses gates with an invalid query, which would make every step inconclusive.
pub(super) fn check_queries(gates: &Gates, prometheus: &Prometheus) -> anyhow::Result<()> {
    match prometheus.number("vector(1)") {
        Err(NoNumber::Away(_)) => return Ok(()), // the first step reports it
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

/// The state of a new run that starts at the current share. Fails if the first step is not above it, or this person may
/// not begin a run.
pub(super) fn started(dir: &Path, plan: Plan, route: &Route, by: &By) -> anyhow::Result<State> {
    let actors = &route.file.ramp.actors;
    let name = by.actor.split(" in ").next().unwrap_or_default(); // without the pod
    ensure!(
        actors.is_empty() || actors.iter().any(|actor| actor == name),
        "ramp.actors: {name} may not begin a run of {}, only {}",
        route.name,
        actors.join(", ")
    );
    let start_share = current(dir)?.share_percent;
    let first = plan.steps.first().context("no steps")?;
    ensure!(
        *first > start_share,
        "the first step, {first}%, is not above the current share, {start_share}%; \
         lower the share with `carve split`"
    );
    Ok(State {
        run: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        by: by.clone(),
        asked: By::default(),
        plan,
        start_share,
        step: 0,
        phase: Phase::Holding,
        reason: String::new(),
        held: Duration::ZERO,
        judged: None,
        hold_ends: None,
        judgement: None,
        report: None,
        trial: None,
        is_past: false,
        confirmation: Confirmation::default(),
        file: hash(&route.text),
    })
}

/// The state in which an unfinished run resumes. Time for which the step was held and judged counts, unless the last
/// judgement is older than `lease`: the step then begins anew. `by` is the person who resumes it; `None` for a process
/// that takes over. Fails if `plan` is another one, or somebody has set the share by hand.
pub(super) fn resumed(
    dir: &Path,
    mut state: State,
    plan: &Plan,
    lease: Duration,
    by: Option<&By>,
) -> anyhow::Result<State> {
    ensure!(
        state.plan == *plan,
        "a run with other steps or times is unfinished ({state}); \
         `carve resume` resumes it, `carve abort` returns to its start share"
    );
    let share = current(dir)?.share_percent;
    let step_before = state.step.checked_sub(1).and_then(|step| state.plan.steps.get(step));
    ensure!(
        [state.share(), state.start_share].contains(&share) || step_before == Some(&share),
        "a run is unfinished ({state}), but it cannot resume, since the share is now {share}%; \
         `carve abort` returns to its start share, `carve split {share}` discards the run"
    );
    let unwatched = state.judged.map(|judged| judged.elapsed().unwrap_or_default());
    // A run that ended for lack of data waits for it once more.
    if unwatched.is_none_or(|gap| gap > lease) || state.phase == Phase::Inconclusive {
        state.held = Duration::ZERO;
    }
    if state.phase != Phase::GoingBack {
        state.phase = Phase::Holding;
        state.reason = String::new();
    }
    state.judgement = None;
    if let Some(by) = by {
        state.asked = by.clone();
    }
    Ok(state)
}
