//! Runs on a cluster: the command orders one, `carve serve` carries it out, and the command reports it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use anstream::eprintln;
use anyhow::{bail, ensure};

use super::begin;
use crate::change::{route_of, take};
use crate::cluster::Cluster;
use crate::display::Display;
use crate::judge::gates;
use crate::nginx::Nginx;
use crate::prometheus::{NoNumber, Prometheus};
use crate::state::{Phase, Plan, State};
use crate::stop;

const LOOK: Duration = Duration::from_millis(500);
/// `carve serve` looks twice a second.
const BEGINS_WITHIN: Duration = Duration::from_secs(10);

/// Orders a run, or orders the unfinished one to go on. Returns its name.
///
/// # Errors
/// If the run cannot start or resume, or another process holds it.
pub fn order(nginx: &Nginx, prometheus: &Prometheus, plan: Plan) -> anyhow::Result<String> {
    let dir = &nginx.route_dir();
    stop::refuse(nginx)?;
    let route = route_of(nginx)?;
    let gates = gates(plan.gates.as_deref(), &route)?;
    begin::check_queries(&gates, prometheus)?;
    if let Err(problem @ NoNumber::Away(_)) = prometheus.number("vector(1)") {
        bail!("{problem}; nothing moved");
    }
    let _lock = take(nginx)?;
    let mut state = match State::load_unfinished(dir)? {
        Some(state) => begin::resumed(dir, state, &plan, route.file.ramp.lease.0)?,
        None => begin::started(dir, plan)?,
    };
    if state.phase != Phase::GoingBack {
        state.phase = Phase::Ordered;
    }
    nginx.keep(&state)?;
    Ok(state.run)
}

/// Reports the run of this name until it ends. `None` if `interrupted`: the run goes on.
///
/// # Errors
/// If another run has begun instead.
pub fn attend(
    cluster: &Cluster,
    route: &str,
    run: &str,
    interrupted: &AtomicBool,
) -> anyhow::Result<Option<Phase>> {
    let (mut display, mut shown, mut problem) = (Display::new(), None, String::new());
    let ordered = SystemTime::now();
    let mut was_missed = false;
    while !interrupted.load(Ordering::Relaxed) {
        match cluster.told(route) {
            Err(error) => {
                let now = format!("{error:#}");
                if now != problem {
                    eprintln!("carve: {now}");
                    problem = now;
                }
            }
            Ok(None) => bail!("the run is gone from the ConfigMap"),
            Ok(Some(told)) => {
                let state = told.state;
                ensure!(state.run == run, "another run has begun: {state}");
                let now = (state.phase, state.step);
                if shown != Some(now) {
                    shown = Some(now);
                    display.say(&state.to_string());
                }
                if let Some(judgement) = &state.judgement {
                    let left = state
                        .hold_ends
                        .and_then(|ends| ends.duration_since(SystemTime::now()).ok());
                    display.step(&state, left.unwrap_or_default(), judgement);
                }
                let has_ended = state.phase == Phase::Inconclusive && told.holder.is_none();
                if has_ended || !state.phase.is_unfinished() {
                    return Ok(Some(state.phase));
                }
                let waits = ordered.elapsed().unwrap_or_default() > BEGINS_WITHIN;
                if state.phase == Phase::Ordered && waits && !was_missed {
                    was_missed = true;
                    eprintln!(
                        "carve: no `carve serve` begins it; does the Deployment ramp have a pod?"
                    );
                }
            }
        }
        thread::sleep(LOOK);
    }
    Ok(None)
}
