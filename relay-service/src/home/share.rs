//! The share, from a file that may change at any time.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use tokio::sync::watch;

use super::homes::Share;

/// Time between two looks at the file.
const INTERVAL: Duration = Duration::from_millis(100);

/// Reads the file.
///
/// # Errors
/// Names the file, and what is wrong with it.
pub(super) fn read(file: &Path) -> anyhow::Result<Share> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    Share::parse(text.trim()).map_err(|error| anyhow::anyhow!("{}: {error}", file.display()))
}

/// Reads the file again and again. What cannot be read changes nothing.
pub(super) async fn follow(file: PathBuf, share: watch::Sender<Share>) {
    let mut was_wrong = false;
    loop {
        tokio::time::sleep(INTERVAL).await;
        match read(&file) {
            Ok(now) => {
                was_wrong = false;
                if share.send_if_modified(|share| std::mem::replace(share, now) != now) {
                    tracing::info!(?now, "the share has moved");
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
