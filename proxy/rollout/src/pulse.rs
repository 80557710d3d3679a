//! The heartbeat of a run: the modification time of the file `ramp.heartbeat`, which a thread of the run's process sets
//! each second. It shows a watcher that the process was killed, stopped or hangs.
//!
//! On a cluster the thread also writes the run's state to the ConfigMap, with a rising count.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::nginx::Nginx;
use crate::state::Heartbeat;

const EVERY: Duration = Duration::from_secs(1);
/// A run hangs if its main thread has done nothing for this long. On a cluster, a change and its undoing may each take
/// a minute.
const HANGS_AFTER: Duration = Duration::from_secs(150);

/// Records the state and a heartbeat of a run on another machine, for the metrics and the watcher here.
pub(crate) fn hear(route_dir: &Path, told: &Heartbeat) -> anyhow::Result<()> {
    told.state.save(route_dir)?;
    Ok(beat(route_dir)?)
}

/// The file whose modification time is the heartbeat.
pub(crate) fn file(route_dir: &Path) -> PathBuf {
    route_dir.join("ramp.heartbeat")
}

/// Sets the heartbeat to now. This works on a full disk too.
pub(crate) fn beat(route_dir: &Path) -> std::io::Result<()> {
    File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(file(route_dir))?
        .set_modified(SystemTime::now())
}

/// The last heartbeat of a run; `None` if there was none.
pub(crate) fn last(route_dir: &Path) -> Option<SystemTime> {
    file(route_dir).metadata().and_then(|metadata| metadata.modified()).ok()
}

/// Sends heartbeats until it is dropped. Holds the time at which the run's main thread was last active.
#[derive(Debug)]
pub(crate) struct Pulse(Arc<Mutex<Instant>>);

impl Pulse {
    /// Starts the thread.
    pub(crate) fn start(nginx: &Nginx) -> Self {
        let alive = Arc::new(Mutex::new(Instant::now()));
        let (of_run, nginx) = (Arc::downgrade(&alive), nginx.clone());
        // Never joined: a disk that hangs must not hold up the run's end.
        thread::spawn(move || {
            let dir = nginx.route_dir();
            for count in 1.. {
                let Some(alive) = of_run.upgrade() else { return };
                let last = *alive.lock().unwrap_or_else(PoisonError::into_inner);
                drop(alive);
                if last.elapsed() < HANGS_AFTER {
                    // A watcher notices a heartbeat that fails.
                    let _ = beat(&dir);
                    let _ = nginx.store.claim().map(|claim| claim.beat(count));
                }
                thread::sleep(EVERY);
            }
        });
        Pulse(alive)
    }

    /// Records that the run's main thread is alive.
    pub(crate) fn alive(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}
