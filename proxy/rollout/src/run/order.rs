//! Runs on a cluster: the command records a run in the ConfigMap, `carve serve` carries it out, and the command reports
//! its progress.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime};

use anstream::eprintln;
use anyhow::{anyhow, bail};

use super::begin;
use crate::change::take;
use crate::cluster::{Cluster, Entries};
use crate::display::Display;
use crate::judge::gates;
use crate::nginx::Nginx;
use crate::prometheus::{NoNumber, Prometheus};
use crate::state::{Heartbeat, Phase, Plan, State};
use crate::stop;

/// How soon `carve serve`, which watches the ConfigMap, must have started a run before a warning is printed.
const BEGINS_WITHIN: Duration = Duration::from_secs(10);

/// Records a new run in the ConfigMap for `carve serve`, or records that the unfinished run is to resume. Returns the
/// run's name. Fails if the route is stopped, Prometheus does not answer, the run cannot start or resume, or another
/// process holds it.
pub fn order(nginx: &Nginx, prometheus: &Prometheus, plan: Plan) -> anyhow::Result<String> {
    let dir = &nginx.route_dir();
    stop::refuse(nginx)?;
    let route = nginx.route_file()?;
    let gates = gates(plan.gates.as_deref(), &route)?;
    begin::check_queries(&gates, prometheus)?;
    if let Err(problem @ NoNumber::Away(_)) = prometheus.number("vector(1)") {
        bail!("{problem}; nothing moved");
    }
    let _lock = take(nginx)?;
    let mut state = match State::load_unfinished(dir)? {
        Some(state) => begin::resumed(dir, state, &plan, route.file.ramp.lease.0, Some(&nginx.by))?,
        None => begin::started(dir, plan, &route, &nginx.by)?,
    };
    if state.phase != Phase::GoingBack {
        state.phase = Phase::Ordered;
    }
    nginx.keep(&state)?;
    Ok(state.run)
}

/// Shows the progress of the run with this name until it ends, and returns its last phase. Returns `None` if
/// `interrupted` is set; the run then goes on. Fails if the run is gone from the ConfigMap, or another run has begun.
pub fn attend(
    cluster: &Cluster,
    route: &str,
    run: &str,
    interrupted: &AtomicBool,
) -> anyhow::Result<Option<Phase>> {
    let (mut display, mut shown, mut was_missed) = (Display::new(), None, false);
    let (ordered, mut outcome) = (Instant::now(), Ok(None));
    cluster.watch(interrupted, |object| {
        let Some(object) = object else { return Ok(true) };
        let Some(Heartbeat { state, holder, .. }) = Entries::of(route, object).told() else {
            outcome = Err(anyhow!("the run is gone from the ConfigMap"));
            return Ok(false);
        };
        if state.run != run {
            outcome = Err(anyhow!("another run has begun: {state}"));
            return Ok(false);
        }
        let now = (state.phase, state.step);
        if shown != Some(now) {
            shown = Some(now);
            display.say(&state.to_string());
        }
        if let Some(judgement) = &state.judgement {
            let ends = state.hold_ends.and_then(|ends| ends.duration_since(SystemTime::now()).ok());
            display.step(&state, ends.unwrap_or_default(), judgement);
        }
        let has_ended = state.phase == Phase::Inconclusive && holder.is_none();
        if has_ended || !state.phase.is_unfinished() {
            outcome = Ok(Some(state.phase));
            return Ok(false);
        }
        if state.phase == Phase::Ordered && ordered.elapsed() > BEGINS_WITHIN && !was_missed {
            was_missed = true;
            eprintln!(
                "carve: no `carve serve` starts the run; does the Deployment ramp have a pod?"
            );
        }
        Ok(true)
    });
    outcome
}
