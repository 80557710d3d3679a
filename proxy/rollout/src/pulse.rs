//! The heartbeat of a run: the time of the file `ramp.heartbeat`, set each second by a thread of the run's
//! process. Who watches sees a process that is killed, stopped or hung, whatever its files say.
//!
//! On a cluster the thread also writes the run's state to the ConfigMap, `NAME.run`, with a count that
//! rises. It sees there whether the route was stopped, whether somebody asked the run for something, and whether
//! another process has the run.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::cluster::Heard;
use crate::nginx::{At, Nginx};
use crate::state::{Request, State, Told};

const EVERY: Duration = Duration::from_secs(1);
/// A run whose main thread has done nothing for so long hangs. On a cluster, a change and the way back
/// from it may each take a minute.
const HANGS_AFTER: Duration = Duration::from_secs(150);

/// Keeps what a run elsewhere says, for the metrics and for a watcher here.
pub(crate) fn hear(route_dir: &Path, told: &Told) -> anyhow::Result<()> {
    told.state.save(route_dir)?;
    beat(route_dir)?;
    Ok(())
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

/// Beats until it is dropped.
#[derive(Debug)]
pub(crate) struct Pulse {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    began: Instant,
    /// When the run's main thread last did something, in milliseconds since `began`.
    alive_ms: AtomicU64,
    is_over: AtomicBool,
    is_stopped: AtomicBool,
    is_taken: AtomicBool,
    request: Mutex<Option<Request>>,
}

impl Pulse {
    /// Starts the thread.
    pub(crate) fn start(nginx: &Nginx) -> Self {
        let shared = Arc::new(Shared {
            began: Instant::now(),
            alive_ms: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
            is_taken: AtomicBool::new(false),
            request: Mutex::default(),
        });
        let (told, nginx) = (Arc::clone(&shared), nginx.clone());
        // Never joined: a disk that hangs must not hold up the run's end.
        thread::spawn(move || told.beat(&nginx));
        Pulse { shared }
    }

    /// Says that the run's main thread is alive.
    pub(crate) fn alive(&self) {
        self.shared.alive_ms.store(self.shared.elapsed_ms(), Ordering::Relaxed);
    }

    /// On a cluster, whether the route was stopped at the last heartbeat.
    pub(crate) fn is_stopped(&self) -> bool {
        self.shared.is_stopped.load(Ordering::Relaxed)
    }

    /// On a cluster, whether another process has the run.
    pub(crate) fn is_taken(&self) -> bool {
        self.shared.is_taken.load(Ordering::Relaxed)
    }

    /// On a cluster, the request that has come since the last call.
    pub(crate) fn take_request(&self) -> Option<Request> {
        self.shared.request.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn hangs(&self) -> bool {
        let silent_ms = self.elapsed_ms().saturating_sub(self.alive_ms.load(Ordering::Relaxed));
        Duration::from_millis(silent_ms) > HANGS_AFTER
    }

    fn hear(&self, heard: Heard) {
        match heard {
            Heard::Taken => self.is_taken.store(true, Ordering::Relaxed),
            Heard::Mine { is_stopped, request } => {
                self.is_stopped.store(is_stopped, Ordering::Relaxed);
                if request.is_some() {
                    *self.request.lock().unwrap_or_else(PoisonError::into_inner) = request;
                }
            }
        }
    }

    fn beat(&self, nginx: &Nginx) {
        let dir = nginx.route_dir();
        let mut count = 0;
        while !self.is_over.load(Ordering::Relaxed) {
            if !self.hangs() {
                count += 1;
                // Who watches sees a heartbeat that fails.
                let _ = beat(&dir);
                if let At::Cluster(cluster) = &nginx.at
                    && let Ok(Some(state)) = State::load(&dir)
                    && let Ok(Some(heard)) = cluster.beat(&nginx.route, count, &state)
                {
                    self.hear(heard);
                }
            }
            thread::sleep(EVERY);
        }
    }
}
