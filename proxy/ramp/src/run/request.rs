//! What somebody asks of a run from another shell: a file, `ramp.request`, that the run takes away.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use serde::{Deserialize, Serialize};

use crate::files;

/// A run looks several times a second, but may be waiting for nginx or Prometheus.
const TAKEN_WITHIN: Duration = Duration::from_secs(40);
const POLL: Duration = Duration::from_millis(50);

/// What can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Request {
    /// Stay at this step.
    Pause,
    /// Go on, with this step from its beginning.
    Resume,
    /// Go back to the start share, and end.
    Abort,
}

fn file(nginx_dir: &Path) -> PathBuf {
    nginx_dir.join("ramp.request")
}

/// Asks, and waits until the run has taken it.
///
/// # Errors
/// Where it does not.
pub fn send(nginx_dir: &Path, request: Request) -> anyhow::Result<()> {
    let file = file(nginx_dir);
    files::replace(&file, &serde_json::to_string(&request)?)?;
    let deadline = Instant::now() + TAKEN_WITHIN;
    while file.exists() {
        if Instant::now() > deadline {
            // Nobody is to find it later.
            let _ = fs::remove_file(&file);
            bail!("the run does not answer");
        }
        thread::sleep(POLL);
    }
    Ok(())
}

/// What was asked since the last look.
pub(crate) fn take(nginx_dir: &Path) -> Option<Request> {
    let file = file(nginx_dir);
    let text = fs::read_to_string(&file).ok()?;
    // Two that ask at once: the later one counts.
    let _ = fs::remove_file(&file);
    serde_json::from_str(&text).ok()
}

/// Forgets what was asked of an earlier run.
pub(crate) fn clear(nginx_dir: &Path) {
    let _ = fs::remove_file(file(nginx_dir));
}
