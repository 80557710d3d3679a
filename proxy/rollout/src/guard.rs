//! Judges the new side also after its run is done, for the time `ramp.watch` of the route's file. No step waits for a
//! proof then, so only what fails counts: the absolute limits and, as long as the shadow asks both sides, its pairs.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use evidence::Verdict;
use evidence::gates::Gates;
use evidence::trial::Trial;

use crate::change::take;
use crate::folder::prepared;
use crate::judge::{gates, judge, readings};
use crate::log::Problem;
use crate::nginx::Nginx;
use crate::prometheus::Prometheus;
use crate::samples::Sampler;
use crate::split::current;
use crate::state::{Phase, State};
use crate::{pulse, stop};

const EVERY: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(100);

/// The evidence since a run was done.
struct Guard {
    run: String,
    gates: Gates,
    trial: Trial,
    sampler: Sampler,
}

/// Judges the routes below nginx' prefix whose runs are done until `interrupted` is set, and reports on stderr. If one
/// fails, its run is unfinished again and going back, and `back` may carry it on.
pub(crate) fn guard(
    dir: &Path,
    prometheus: &Prometheus,
    interrupted: &AtomicBool,
    nginx: impl Fn(&str) -> Nginx,
    back: impl Fn(&Nginx) -> anyhow::Result<()>,
) {
    let (mut guards, mut problems) = (BTreeMap::new(), BTreeMap::<String, Problem>::new());
    let mut next = Instant::now();
    while !interrupted.load(Ordering::Relaxed) {
        if Instant::now() < next {
            thread::sleep(LOOK);
            continue;
        }
        next = Instant::now() + EVERY;
        for route in prepared(dir) {
            let nginx = nginx(&route);
            let outcome = match look(guards.entry(route.clone()).or_default(), &nginx, prometheus) {
                Ok(Some(state)) => reopen(&nginx, &state).and_then(|()| back(&nginx)),
                outcome => outcome.map(drop),
            };
            problems.entry(route.clone()).or_default().report(outcome.context(route));
        }
    }
}

/// Judges a route. Returns its run as going back if its new side has broken.
fn look(
    guard: &mut Option<Guard>,
    nginx: &Nginx,
    prometheus: &Prometheus,
) -> anyhow::Result<Option<State>> {
    let dir = nginx.route_dir();
    let done = State::load(&dir)?.filter(|state| state.phase == Phase::Done && !state.is_past);
    let since = done.as_ref().and_then(|state| state.judged?.elapsed().ok());
    let (Some(state), Some(since)) = (done, since) else { return Ok(None) };
    let (route, split) = (nginx.route_file()?, current(&dir)?);
    let is_over = since >= route.file.ramp.watch.0 || split.share_percent != state.share();
    if is_over || stop::in_force(nginx)?.is_some() {
        return Ok(None);
    }
    if guard.as_ref().is_none_or(|guard| guard.run != state.run) {
        let gates = gates(state.plan.gates.as_deref(), &route)?;
        let (trial, sampler) = (Trial::new(&gates, 1), Sampler::new(&nginx.route, &gates));
        *guard = Some(Guard { run: state.run.clone(), gates, trial, sampler });
    }
    let Some(Guard { gates, trial, sampler, .. }) = guard else { return Ok(None) };
    let counted = sampler.take(prometheus);
    let tests = readings(trial, gates, &split, counted);
    let judgement = judge(gates, prometheus, since, false).with(tests);
    if judgement.verdict != Verdict::Fail {
        return Ok(None);
    }
    let reason = format!("after the run was done: {}", judgement.named(Verdict::Fail));
    Ok(Some(State { phase: Phase::GoingBack, reason, judgement: Some(judgement), ..state }))
}

/// Records that the run goes back, unless another one has begun. On a cluster, a process then carries it on.
fn reopen(nginx: &Nginx, state: &State) -> anyhow::Result<()> {
    let _lock = take(nginx)?;
    pulse::beat(&nginx.route_dir())?; // or the run would be lost at once
    let here = State::load(&nginx.route_dir())?;
    match here.is_some_and(|here| here.run == state.run && here.phase == Phase::Done) {
        true => nginx.keep(state),
        false => Ok(()),
    }
}
