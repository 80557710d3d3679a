//! Watches the runs: one that is unfinished and silent for its route's lease goes back, or holds, as the
//! route file says. A run is silent if its process was killed or stopped, hangs, or has ended without a
//! result: interrupted, or inconclusive.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anstream::eprintln;
use anyhow::Context;
use route::{OnLost, Share};

use crate::change::{change, is_at, route_of, take};
use crate::folder::prepared;
use crate::log::{Decision, record};
use crate::nginx::{At, Nginx};
use crate::split::Wanted;
use crate::state::{Phase, State};
use crate::{metrics, pulse, stop, stop_file};

const LOOK: Duration = Duration::from_millis(500);
/// How often the metrics are written, though nothing has changed: their time shows that this runs.
const WRITE: Duration = Duration::from_secs(5);

/// Watches every route below nginx' prefix until `interrupted`, and reports on stderr. `nginx` gives the
/// nginx of a route, or the cluster that it is part of.
///
/// # Errors
/// None in practice: problems are reported, and looked at again.
pub fn watch(
    dir: &Path,
    nginx: impl Fn(&str) -> Nginx,
    interrupted: &AtomicBool,
) -> anyhow::Result<()> {
    watch_by(dir, nginx, &Hearing::default(), interrupted)
}

/// When this process last could not hear any run. Who hears nothing knows of no silence.
#[derive(Debug, Default)]
pub(crate) struct Hearing(Mutex<Option<Instant>>);

impl Hearing {
    /// The cluster does not answer.
    pub(crate) fn fails(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    fn since(&self) -> Duration {
        let failed = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failed.map_or(Duration::MAX, |when| when.elapsed())
    }
}

/// Does what [`watch`] does, by what it hears from a cluster.
pub(crate) fn watch_by(
    dir: &Path,
    nginx: impl Fn(&str) -> Nginx,
    hearing: &Hearing,
    interrupted: &AtomicBool,
) -> anyhow::Result<()> {
    let mut runs: BTreeMap<String, Heard> = BTreeMap::new();
    let mut written: Option<Instant> = None;
    while !interrupted.load(Ordering::Relaxed) {
        for route in prepared(dir) {
            let heard = runs.entry(route.clone()).or_insert_with(Heard::new);
            if let Err(problem) = heard.look(&nginx(&route), hearing) {
                heard.report(&format!("{route}: {problem:#}"));
            }
        }
        if written.is_none_or(|when| when.elapsed() >= WRITE) {
            written = Some(Instant::now());
            if let Err(problem) = metrics::write(dir) {
                eprintln!("carve: {problem:#}");
            }
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// What was last heard of a route's run. Only changes count, by this process' own clock, so neither a
/// clock that jumps nor two that differ make a run silent.
struct Heard {
    beat: Option<SystemTime>,
    since: Instant,
    /// The run that was found silent.
    lost: Option<String>,
    reported: String,
}

impl Heard {
    fn new() -> Self {
        Heard { beat: None, since: Instant::now(), lost: None, reported: String::new() }
    }

    fn look(&mut self, nginx: &Nginx, hearing: &Hearing) -> anyhow::Result<()> {
        let dir = nginx.route_dir();
        let beat = pulse::last(&dir);
        if beat != self.beat {
            (self.beat, self.since) = (beat, Instant::now());
        }
        let Some(state) = State::load_unfinished(&dir)? else {
            self.lost = None;
            return Ok(());
        };
        let ramp = route_of(nginx)?.file.ramp;
        let silent = self.since.elapsed().min(hearing.since());
        if silent < ramp.lease.0 || self.lost.as_ref() == Some(&state.run) {
            return Ok(());
        }
        let why = format!("the run was {} and silent for {}", state.phase.as_str(), ramp.lease);
        match ramp.on_lost {
            OnLost::Hold => self.report(&format!("{}: {why}; its share stays", nginx.route)),
            OnLost::Back => back(nginx, &why)?,
        }
        self.lost = Some(state.run);
        Ok(())
    }

    fn report(&mut self, what: &str) {
        if self.reported != what {
            eprintln!("carve: {what}");
            what.clone_into(&mut self.reported);
        }
    }
}

/// Back to where the run began. If that cannot be done, since its process holds the lock or nginx cannot
/// reload, the route is stopped. On a cluster it is stopped in any case: each proxy has a watcher, and a
/// stop is the same whoever says it.
fn back(nginx: &Nginx, why: &str) -> anyhow::Result<()> {
    if let At::Cluster(cluster) = &nginx.at {
        // Whoever keeps the copy watches the runs too.
        if cluster.is_copy() {
            return Ok(());
        }
        let Some(mut state) = State::load_unfinished(&nginx.route_dir())? else { return Ok(()) };
        cluster.publish_stop(&nginx.route, Some(&stop_file::Stop::now(why)))?;
        state.phase = Phase::Lost;
        why.clone_into(&mut state.reason);
        cluster.overrule(&nginx.route, &state)?;
        eprintln!("carve: {}: {why}; it is stopped", nginx.route);
        return Ok(());
    }
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
    let lock = take(nginx)?;
    let mut state = State::load_unfinished(&dir)?.context("the run has ended")?;
    let share = state.start_share;
    let uninterrupted = AtomicBool::new(false);
    if !is_at(nginx, share)? {
        change(nginx, &lock, &Wanted::share(share), &uninterrupted)?;
    }
    state.phase = Phase::Lost;
    why.clone_into(&mut state.reason);
    state.save(&dir)?;
    let decision = Decision {
        event: "lost",
        run: Some(&state.run),
        step: Some(state.step + 1),
        share_percent: share,
        reason: why,
        gates: &[],
    };
    record(&dir, &decision)?;
    metrics::write(&nginx.dir)?;
    Ok(share)
}
