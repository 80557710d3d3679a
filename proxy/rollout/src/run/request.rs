//! Requests to a run from another shell: the file `ramp.request`, which the run removes; on a cluster, the key
//! `NAME.request` of the ConfigMap, which its heartbeat removes.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;

use crate::files;
use crate::nginx::{At, Nginx};
pub use crate::state::Request;

const POLL: Duration = Duration::from_millis(100);

fn file(route_dir: &Path) -> PathBuf {
    route_dir.join("ramp.request")
}

/// Sends a request and waits until the run has taken it. A run looks several times a second, unless it
/// waits for nginx or Prometheus.
///
/// # Errors
/// If the run does not take it in time.
pub fn send(nginx: &Nginx, request: Request, patience: Duration) -> anyhow::Result<()> {
    let file = file(&nginx.route_dir());
    match &nginx.at {
        At::Here(_) => files::replace(&file, &serde_json::to_string(&request)?)?,
        At::Cluster(cluster) => cluster.ask(&nginx.route, Some(request))?,
    }
    let deadline = Instant::now() + patience;
    loop {
        let is_taken = match &nginx.at {
            At::Here(_) => !file.exists(),
            At::Cluster(cluster) => cluster.is_asked(&nginx.route).is_ok_and(|asked| !asked),
        };
        if is_taken {
            return Ok(());
        }
        if Instant::now() > deadline {
            // A later run must not find it.
            let _ = match &nginx.at {
                At::Here(_) => fs::remove_file(&file).map_err(Into::into),
                At::Cluster(cluster) => cluster.ask(&nginx.route, None),
            };
            bail!("the run does not answer");
        }
        thread::sleep(POLL);
    }
}

/// Takes the request that came since the last look.
pub(crate) fn take(route_dir: &Path) -> Option<Request> {
    // Renamed before it is read, so that one which comes meanwhile is left for the next look.
    let taken = route_dir.join("ramp.request.taken");
    fs::rename(file(route_dir), &taken).ok()?;
    let text = fs::read_to_string(&taken);
    let _ = fs::remove_file(&taken);
    serde_json::from_str(&text.ok()?).ok()
}

/// Discards a request to an earlier run.
pub(crate) fn clear(route_dir: &Path) {
    let _ = fs::remove_file(file(route_dir));
}
