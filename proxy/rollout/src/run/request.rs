//! Requests to a run from another shell.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;

use crate::nginx::Nginx;
pub use crate::state::Request;
use crate::state::RunRequest;

const POLL: Duration = Duration::from_millis(100);

/// Sends a request and waits until the run has taken it. A run checks for requests several times a second, unless it
/// waits for nginx or Prometheus. Fails if the run does not take it within `patience`.
pub fn send(nginx: &Nginx, request: Request, patience: Duration) -> anyhow::Result<()> {
    nginx.store.ask(Some(&RunRequest { request, by: nginx.by.clone() }))?;
    let deadline = Instant::now() + patience;
    while nginx.store.is_asked().unwrap_or(true) {
        if Instant::now() > deadline {
            // Withdraws the request, so that a later run does not find it.
            let _ = nginx.store.ask(None);
            bail!("the run does not answer");
        }
        thread::sleep(POLL);
    }
    Ok(())
}
