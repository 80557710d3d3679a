//! Where the state of a route is kept, and who may change it: files on one machine, a ConfigMap on a cluster.

use std::fmt;
use std::fs;
use std::path::PathBuf;

use crate::folder::route_dir;
use crate::split::{Split, current};
use crate::state::{Asked, State};
use crate::stop_file::{self, Stop};
use crate::{files, lock};

/// What a run has last heard of its route.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Heard {
    pub(crate) is_stopped: bool,
    /// Another process has the run.
    pub(crate) is_taken: bool,
}

/// The state of one route.
pub(crate) trait Store: fmt::Debug + Send + Sync {
    /// The split that is wanted; nginx may not serve it yet.
    fn wanted(&self) -> anyhow::Result<Split>;
    /// Tells others the split in the route's folder, with the run that this process holds.
    fn publish(&self) -> anyhow::Result<()>;
    /// The stop that is in force.
    fn stop(&self) -> anyhow::Result<Option<Stop>>;
    /// Stops the route. A brake changes nothing where the route is stopped already.
    fn put_stop(&self, stop: &Stop) -> anyhow::Result<()>;
    /// Ends a stop; or else a brake, if there is one.
    fn lift_stop(&self, only_brake: bool) -> anyhow::Result<()>;
    /// The file that keeps a stop over a restart, where that needs one.
    fn kept_stop(&self) -> Option<PathBuf>;
    /// Describes the process that changes the route now.
    fn holder(&self) -> anyhow::Result<Option<String>>;
    /// Makes sure that no other process holds the route's run, and copies what it has left to the folder.
    fn take(&self) -> anyhow::Result<()>;
    /// Keeps the state of a run that no process holds from now on.
    fn let_go(&self, state: &State) -> anyhow::Result<()>;
    /// Whether another process carries on a run whose process ends.
    fn is_carried_on(&self) -> bool;
    /// Leaves a request for the run, or with `None` takes it back.
    fn ask(&self, request: Option<&Asked>) -> anyhow::Result<()>;
    /// Whether the run has not taken the request yet.
    fn is_asked(&self) -> anyhow::Result<bool>;
    /// Tells others that this process is alive, and the run's state.
    fn beat(&self, count: u64) -> anyhow::Result<()>;
    /// What this process has last heard, at a heartbeat or now.
    fn heard(&self) -> Heard;
    /// Takes the request that has come for the run.
    fn take_request(&self) -> Option<Asked>;
}

/// The files of one machine: those below nginx' prefix.
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

    fn publish(&self) -> anyhow::Result<()> {
        Ok(())
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

    fn kept_stop(&self) -> Option<PathBuf> {
        Some(stop_file::kept_file(&self.dir()))
    }

    fn holder(&self) -> anyhow::Result<Option<String>> {
        Ok(lock::holder(&self.dir()))
    }

    /// The lock of the folder says so.
    fn take(&self) -> anyhow::Result<()> {
        Ok(())
    }

    fn let_go(&self, _: &State) -> anyhow::Result<()> {
        Ok(())
    }

    fn is_carried_on(&self) -> bool {
        false
    }

    fn ask(&self, request: Option<&Asked>) -> anyhow::Result<()> {
        match request {
            Some(request) => files::replace(&self.request(), &serde_json::to_string(request)?),
            None => Ok(fs::remove_file(self.request())?),
        }
    }

    fn is_asked(&self) -> anyhow::Result<bool> {
        Ok(self.request().exists())
    }

    fn beat(&self, _: u64) -> anyhow::Result<()> {
        Ok(())
    }

    fn heard(&self) -> Heard {
        let is_stopped = stop_file::is_here(&self.nginx_dir, &self.route);
        Heard { is_stopped, is_taken: false }
    }

    fn take_request(&self) -> Option<Asked> {
        // Renamed before it is read, so that one which comes meanwhile is left for the next look.
        let taken = self.dir().join("ramp.request.taken");
        fs::rename(self.request(), &taken).ok()?;
        let text = fs::read_to_string(&taken);
        let _ = fs::remove_file(&taken);
        serde_json::from_str(&text.ok()?).ok()
    }
}
