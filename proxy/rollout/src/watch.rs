//! Watches the runs. If an unfinished run has been silent for its route's lease, its share goes back or stays, as the
//! route file says. A run is silent if its process was killed or stopped, hangs, or ended as interrupted or
//! inconclusive.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anstream::eprintln;
use anyhow::Context;
use route::{OnLost, Share};

use crate::change::{bring_to, take};
use crate::folder::{prepared, route_dir, route_file};
use crate::guard::guard;
use crate::log::{Decision, Problem, record};
use crate::metrics::{self, LastWrite};
use crate::nginx::Nginx;
use crate::prometheus::Prometheus;
use crate::run::{Surroundings, carry_on};
use crate::state::{Phase, State};
use crate::{history, pulse, stop};

const LOOK: Duration = Duration::from_millis(500);
/// The actor of the watcher's rollbacks.
pub const WATCH: &str = "carve watch";

/// Watches every route below nginx' prefix until `interrupted` is set, and reports on stderr. Without Prometheus, the
/// runs that are done are not judged. `nginx` returns the nginx of a route.
pub fn watch(
    dir: &Path,
    prometheus: Option<&Prometheus>,
    nginx: impl Fn(&str) -> Nginx + Sync,
    interrupted: &AtomicBool,
) -> anyhow::Result<()> {
    thread::scope(|scope| {
        if let Some(prometheus) = prometheus {
            scope.spawn(|| {
                guard(dir, prometheus, interrupted, &nginx, |nginx| {
                    let (lock, every) = (&take(nginx)?, Duration::ZERO);
                    let around =
                        Surroundings { nginx, lock, prometheus, every, interrupted, report: None };
                    carry_on(&around).map(drop)
                });
            });
        }
        watch_silence(dir, &nginx, interrupted)
    })
}

fn watch_silence(
    dir: &Path,
    nginx: impl Fn(&str) -> Nginx,
    interrupted: &AtomicBool,
) -> anyhow::Result<()> {
    let (mut watcher, mut written) = (Watcher::default(), LastWrite::default());
    let mut problem = Problem::default();
    while !interrupted.load(Ordering::Relaxed) {
        watcher.look(dir, |route, why| back(&nginx(route), why));
        // The machines that follow this one get the heartbeats of its runs from the exported state.
        problem.report(metrics::export(dir).and_then(|()| written.write(dir, false)));
        thread::sleep(LOOK);
    }
    Ok(())
}

/// The last heartbeat of each route's run.
#[derive(Default)]
pub(crate) struct Watcher(BTreeMap<String, LastBeat>);

impl Watcher {
    /// Calls `back` for each route whose run is silent, with the route and the reason. Calls it again at the next look
    /// if it fails.
    pub(crate) fn look(
        &mut self,
        dir: &Path,
        mut back: impl FnMut(&str, &str) -> anyhow::Result<()>,
    ) {
        for route in prepared(dir) {
            let heard = self.0.entry(route.clone()).or_insert_with(LastBeat::new);
            let outcome = heard.look(&route_dir(dir, &route), |why| back(&route, why));
            heard.problem.report(outcome.with_context(|| route.clone()));
        }
    }
}

/// The heartbeat of one run. The watcher measures on its own monotonic clock how long it has not changed, so clocks
/// that jump or differ do not make a run silent.
struct LastBeat {
    beat: Option<SystemTime>,
    since: Instant,
    /// Whether the silence was handled; reset by the next heartbeat.
    is_lost: bool,
    problem: Problem,
}

impl LastBeat {
    fn new() -> Self {
        LastBeat { beat: None, since: Instant::now(), is_lost: false, problem: Problem::default() }
    }

    fn look(
        &mut self,
        dir: &Path,
        back: impl FnOnce(&str) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        // First, since a run that begins has sent its heartbeat before.
        let unfinished = State::load_unfinished(dir)?;
        let beat = pulse::last(dir);
        if beat != self.beat {
            (self.beat, self.since, self.is_lost) = (beat, Instant::now(), false);
        }
        let Some(state) = unfinished else { return Ok(()) };
        let ramp = route_file(dir)?.file.ramp;
        if self.is_lost || self.since.elapsed() < ramp.lease.0 {
            return Ok(());
        }
        let why = format!("the run was {} and silent for {}", state.phase.as_str(), ramp.lease);
        match ramp.on_lost {
            OnLost::Hold => eprintln!("carve: {}: {why}; its share stays", state.run),
            OnLost::Back => back(&why)?,
        }
        self.is_lost = true;
        Ok(())
    }
}

/// Brakes the route and returns to the run's start share. If that fails, because the run's process holds the lock or
/// nginx cannot reload, stops the route instead.
fn back(nginx: &Nginx, why: &str) -> anyhow::Result<()> {
    match back_to_start(nginx, why) {
        Ok(share) => {
            eprintln!("carve: {}: {why}; {share}% goes to the new side again", nginx.route);
            Ok(())
        }
        Err(problem) => {
            eprintln!("carve: {}: {why}; {problem:#}; it is stopped instead", nginx.route);
            stop::stop(nginx, why).map(drop).context("the stop failed too")
        }
    }
}

fn back_to_start(nginx: &Nginx, why: &str) -> anyhow::Result<Share> {
    let dir = nginx.route_dir();
    stop::brake(nginx, why)?;
    let run = State::load_unfinished(&dir)?;
    nginx.tell("rollback", run.as_ref(), Share::NONE, why);
    let lock = take(nginx)?;
    let mut state = State::load_unfinished(&dir)?.context("the run has ended")?;
    let share = state.start_share;
    bring_to(nginx, &lock, share)?;
    stop::release(nginx)?;
    state.phase = Phase::Lost;
    why.clone_into(&mut state.reason);
    state.asked = nginx.by.clone();
    state.save(&dir)?;
    record(&dir, &Decision::of_run("lost", share, &state))?;
    metrics::write(&nginx.dir)?;
    nginx.tell("end", Some(&state), share, why);
    history::leave(nginx, &state, share, None);
    Ok(share)
}
