//! Stores the state of a route: in files on one machine, in a ConfigMap on a cluster.
//!
//! Who holds a run:
//!
//! | | on one machine | on a cluster |
//! | --- | --- | --- |
//! | the right to it | the [lock](crate::lock) of the route's folder | the [`Claim`]: the name in the ConfigMap |
//! | who may take it over | a person, by `carve ramp`, once the process has ended | [`serve`](crate::serve()), once it is silent |
//! | its heartbeat | a file's time ([`pulse`](crate::pulse)) | that, and a count in the ConfigMap |
//! | silent for the lease | [`watch`](crate::watch()) sets the start share | each [`follow`](crate::follow()) stops the route |
//! | another machine that follows | reads the run, and holds none | |

use std::fmt;
use std::fs;
use std::path::PathBuf;

use crate::folder::route_dir;
use crate::split::{Split, current};
use crate::state::{RunRequest, State};
use crate::stop_file::{self, Stop};
use crate::{files, lock};

/// What a run last learned about its route.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Observation {
    pub(crate) is_stopped: bool,
    /// Whether another process holds the run.
    pub(crate) is_taken: bool,
}

/// The state of one route.
pub(crate) trait Store: fmt::Debug + Send + Sync {
    /// The wanted split; nginx may not serve it yet.
    fn wanted(&self) -> anyhow::Result<Split>;
    /// The stop that is in force.
    fn stop(&self) -> anyhow::Result<Option<Stop>>;
    /// Stops the route. A brake changes nothing if the route is already stopped.
    fn put_stop(&self, stop: &Stop) -> anyhow::Result<()>;
    /// Ends a stop or a brake; with `only_brake`, leaves a stop in force.
    fn lift_stop(&self, only_brake: bool) -> anyhow::Result<()>;
    /// Describes the process that holds the route now; `None` if none does.
    fn holder(&self) -> anyhow::Result<Option<String>>;
    /// Leaves a request for the run; `None` withdraws it.
    fn ask(&self, request: Option<&RunRequest>) -> anyhow::Result<()>;
    /// Whether a request is still waiting for the run to take it.
    fn is_asked(&self) -> anyhow::Result<bool>;
    /// Takes a request for the run; `None` if there is none.
    fn take_request(&self) -> Option<RunRequest>;
    /// What this process last learned about the route: at the last heartbeat, or now.
    fn heard(&self) -> Observation;
    /// The right to the route's run; `None` where the lock of the route's folder is enough.
    fn claim(&self) -> Option<&dyn Claim>;
}

/// The right to a run that several machines could carry out. If its process ends, another one carries the run on.
pub(crate) trait Claim {
    /// Fails if another process holds the run. Else copies the split and the run to the folder.
    fn take(&self) -> anyhow::Result<()>;
    /// Publishes the split in the folder, and the run if this process holds it.
    fn publish(&self) -> anyhow::Result<()>;
    /// Publishes a heartbeat and the run's state.
    fn beat(&self, count: u64) -> anyhow::Result<()>;
    /// Saves the state of the run and gives it up.
    fn let_go(&self, state: &State) -> anyhow::Result<()>;
}

/// The files of one machine, below nginx' prefix.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) nginx_dir: PathBuf,
    pub(crate) route: String,
}

impl Files {
    fn dir(&self) -> PathBuf {
        route_dir(&self.nginx_dir, &self.route)
    }

    fn request(&self) -> PathBuf {
        self.dir().join("ramp.request")
    }
}

impl Store for Files {
    fn wanted(&self) -> anyhow::Result<Split> {
        current(&self.dir())
    }

    fn stop(&self) -> anyhow::Result<Option<Stop>> {
        if !stop_file::is_here(&self.nginx_dir, &self.route) {
            return Ok(None);
        }
        let kept = fs::read_to_string(stop_file::kept_file(&self.dir())).unwrap_or_default();
        let is_brake = stop_file::is_brake(&self.nginx_dir, &self.route);
        Ok(Some(Stop { is_brake, ..Stop::read(&kept) }))
    }

    fn put_stop(&self, stop: &Stop) -> anyhow::Result<()> {
        match stop.is_brake {
            true => stop_file::brake(&self.nginx_dir, &self.route),
            false => stop_file::put(&self.nginx_dir, &self.route, true),
        }
    }

    fn lift_stop(&self, only_brake: bool) -> anyhow::Result<()> {
        if only_brake {
            return stop_file::release(&self.nginx_dir, &self.route);
        }
        let kept = stop_file::kept_file(&self.dir());
        files::gone(&kept, fs::remove_file(&kept))?;
        stop_file::put(&self.nginx_dir, &self.route, false)
    }

    fn holder(&self) -> anyhow::Result<Option<String>> {
        Ok(lock::holder(&self.dir()))
    }

    fn ask(&self, request: Option<&RunRequest>) -> anyhow::Result<()> {
        match request {
            Some(request) => files::replace(&self.request(), &serde_json::to_string(request)?),
            None => Ok(fs::remove_file(self.request())?),
        }
    }

    fn is_asked(&self) -> anyhow::Result<bool> {
        Ok(self.request().exists())
    }

    fn heard(&self) -> Observation {
        let is_stopped = stop_file::is_here(&self.nginx_dir, &self.route);
        Observation { is_stopped, is_taken: false }
    }

    fn take_request(&self) -> Option<RunRequest> {
        // Renames the file before reading it, so that a request that arrives meanwhile stays for the next call.
        let taken = self.dir().join("ramp.request.taken");
        fs::rename(self.request(), &taken).ok()?;
        let text = fs::read_to_string(&taken);
        let _ = fs::remove_file(&taken);
        serde_json::from_str(&text.ok()?).ok()
    }

    fn claim(&self) -> Option<&dyn Claim> {
        None
    }
}
