//! The lock that lets one process at a time change the split, and names its holder.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Context, bail};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// `carve status` takes the lock for a moment to test it, so other commands retry for this long.
const PATIENCE: Duration = Duration::from_millis(300);
const POLL: Duration = Duration::from_millis(20);
/// How long to wait for another change. It reloads nginx, which may take seconds on a busy machine, and a minute on a
/// cluster.
const TURN: Duration = Duration::from_secs(90);

/// The right to change the split of one folder. The kernel releases it when this process ends, even
/// by a kill.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock of a folder. If another process holds it, the error has that process's id, its command and the
    /// time it took the lock.
    pub fn take(dir: &Path) -> anyhow::Result<Lock> {
        Lock::within(dir, PATIENCE)
    }

    /// As [`Lock::take`], but waits up to a minute and a half for a process that holds the lock.
    pub(crate) fn wait(dir: &Path) -> anyhow::Result<Lock> {
        Lock::within(dir, TURN)
    }

    fn within(dir: &Path, patience: Duration) -> anyhow::Result<Lock> {
        let path = dir.join("ramp.lock");
        let mut options = OpenOptions::new();
        // Truncating would erase the name of the holder.
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(&path).with_context(|| path.display().to_string())?;
        let tries = patience.as_millis() / POLL.as_millis();
        for _ in 0..tries {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Lock { file }.sign(),
                Err(Errno::WOULDBLOCK) => thread::sleep(POLL),
                Err(error) => return Err(error).context("ramp.lock"),
            }
        }
        bail!("the split is held by {}", described(file));
    }

    fn sign(mut self) -> anyhow::Result<Lock> {
        let command: Vec<String> = std::env::args().collect();
        let since = humantime::format_rfc3339_seconds(SystemTime::now());
        let pid = std::process::id();
        self.file.set_len(0)?;
        write!(self.file, "process {pid} ({}), since {since}", command.join(" "))?;
        Ok(self)
    }
}

/// Describes the holder of the lock; `None` if it is free.
pub fn holder(dir: &Path) -> Option<String> {
    let file = File::open(dir.join("ramp.lock")).ok()?;
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => None,
        Err(_) => Some(described(file)),
    }
}

fn described(mut file: File) -> String {
    let mut text = String::new();
    // Even if the description cannot be read, somebody holds the lock.
    let _ = file.rewind().and_then(|()| file.read_to_string(&mut text));
    if text.is_empty() { "another process".to_owned() } else { text }
}
