//! Reads the share from a file that may change at any time. The first line is the share. The other lines are for the
//! writer, which compares them with `/share` to see which version is in force.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use tokio::sync::watch;

use super::homes::KeyShare;

/// The file's text and its share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InForce {
    pub(super) text: String,
    pub(super) share: KeyShare,
}

/// Time between two reads of the file.
const INTERVAL: Duration = Duration::from_millis(100);

/// Reads the file. Fails if it cannot be read or has no valid share; the error names the file.
pub(super) fn read(file: &Path) -> anyhow::Result<InForce> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let first = text.lines().next().unwrap_or_default().trim();
    match KeyShare::parse(first) {
        Ok(share) => Ok(InForce { text, share }),
        Err(error) => anyhow::bail!("{}: {error}", file.display()),
    }
}

/// Reads the file again and again. A file that cannot be read leaves the share as it is.
pub(super) async fn follow(file: PathBuf, share: watch::Sender<InForce>) {
    let mut was_wrong = false;
    loop {
        tokio::time::sleep(INTERVAL).await;
        match read(&file) {
            Ok(now) => {
                was_wrong = false;
                let change = |before: &mut InForce| {
                    let has_changed = *before != now;
                    *before = now;
                    has_changed
                };
                if share.send_if_modified(change) {
                    tracing::info!(share = ?share.borrow().share, "the share file has changed");
                }
            }
            Err(error) => {
                if !was_wrong {
                    tracing::error!(error = format!("{error:#}"), "the share stays as it was");
                }
                was_wrong = true;
            }
        }
    }
}
