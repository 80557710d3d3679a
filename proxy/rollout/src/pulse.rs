//! The heartbeat of a run: the time of the file `ramp.heartbeat`, set each second by a thread of the run's
//! process. Who watches sees a process that is killed, stopped or hung, whatever its files say.
//!
//! On a cluster the thread also writes the run's state to the ConfigMap, with a count that rises.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::nginx::Nginx;
use crate::state::Told;

const EVERY: Duration = Duration::from_secs(1);
/// A run whose main thread has done nothing for so long hangs. On a cluster, a change and the way back
/// from it may each take a minute.
const HANGS_AFTER: Duration = Duration::from_secs(150);

/// Keeps what a run elsewhere says, for the metrics and for a watcher here.
pub(crate) fn hear(route_dir: &Path, told: &Told) -> anyhow::Result<()> {
    told.state.save(route_dir)?;
    Ok(beat(route_dir)?)
}

/// The file whose time is the heartbeat.
pub(crate) fn file(route_dir: &Path) -> PathBuf {
    route_dir.join("ramp.heartbeat")
}

/// Sets the file's time. A full disk does not prevent that.
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

/// Beats until it is dropped. Holds when the run's main thread last did something.
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
                    // Who watches sees a heartbeat that fails.
                    let _ = beat(&dir);
                    let _ = nginx.store.beat(count);
                }
                thread::sleep(EVERY);
            }
        });
        Pulse(alive)
    }

    /// Says that the run's main thread is alive.
    pub(crate) fn alive(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}
