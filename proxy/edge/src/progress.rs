//! What the reader, the metrics and the watcher of nginx' status share.
//!
//! A restarted `edge` counts from 0, and Prometheus adds its counts to those of the last scrape
//! before. So each line must be in a scrape of one of the two processes, and not of both: the offset
//! file has the position of the last scrape, not that of the reader. Lines that were read but not
//! scraped are read again.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::counts::Counts;
use crate::loss::{LAG, Lines, Reading};
use crate::position::{Identity, Position, write_positions};

/// Bytes that were read and not scraped. If there are more, nobody scrapes, or too seldom: the reader
/// gives them up, to free the file.
const MAX_UNSCRAPED_BYTES: u64 = 16 << 20;

/// How far one log file has been read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileProgress {
    pub(crate) identity: Identity,
    /// Bytes that are counted.
    pub(crate) read: u64,
    /// Bytes that a restart skips.
    pub(crate) kept: u64,
    /// The file's length when the reader last looked.
    pub(crate) length: u64,
}

/// What the reader has done so far.
#[derive(Clone)]
pub(crate) struct Done {
    pub(crate) counts: Counts,
    /// The oldest first; the last one is the file at the log's path.
    pub(crate) files: Vec<FileProgress>,
    /// When there was last nothing more to read.
    pub(crate) read_to_end_at: Option<Instant>,
    pub(crate) restarts_of_log: u64,
}

/// The last answer of nginx' status.
#[derive(Clone, Copy, Default)]
struct Status {
    last: Option<Reading>,
    lost: u64,
}

/// The shared state. Each lock is held for a fraction of a millisecond, or for writing the offset
/// file.
pub(crate) struct Progress {
    done: Mutex<Done>,
    status: Mutex<Status>,
    offset_file: PathBuf,
    /// What the offset file has.
    saved: Mutex<Vec<Position>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic while counting leaves a line half counted, which is no reason to stop.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Progress {
    pub(crate) fn new(routes: &[String], offset_file: PathBuf) -> Self {
        let counts = Counts::new(routes);
        let done = Done { counts, files: Vec::new(), read_to_end_at: None, restarts_of_log: 0 };
        Progress {
            done: Mutex::new(done),
            status: Mutex::default(),
            offset_file,
            saved: Mutex::default(),
        }
    }

    /// The reader's access. It counts the lines of a block and moves on in one step, so that a scrape
    /// and its position agree.
    pub(crate) fn done(&self) -> MutexGuard<'_, Done> {
        lock(&self.done)
    }

    /// All counters for a scrape. From now on, a restart skips what is in them.
    pub(crate) fn scrape(&self) -> Done {
        let mut done = self.done();
        for file in &mut done.files {
            file.kept = file.read;
        }
        done.clone()
    }

    /// Writes the offset file if it has other positions. Gives up what nobody has scraped for too long.
    /// Returns what the file then has.
    ///
    /// # Errors
    /// Those of writing the file.
    pub(crate) fn save(&self) -> io::Result<Vec<Position>> {
        // Held until the end, so that no older positions are written over newer ones.
        let mut saved = lock(&self.saved);
        let mut positions = Vec::new();
        for file in &mut self.done().files {
            if file.read - file.kept > MAX_UNSCRAPED_BYTES {
                file.kept = file.read;
            }
            positions.push(Position { identity: file.identity, offset: file.kept });
        }
        if *saved != positions {
            write_positions(&self.offset_file, &positions)?;
            saved.clone_from(&positions);
        }
        Ok(positions)
    }

    /// The lines counted so far.
    pub(crate) fn lines(&self) -> Lines {
        let done = self.done();
        Lines { count: done.counts.lines, read_to_end_at: done.read_to_end_at }
    }

    pub(crate) fn set_status(&self, reading: Reading, lost: u64) {
        *lock(&self.status) = Status { last: Some(reading), lost };
    }

    /// The requests that nginx has counted, unless it has not answered lately.
    pub(crate) fn nginx_requests(&self) -> Option<u64> {
        let last = lock(&self.status).last?;
        (last.at.elapsed() < LAG).then_some(last.requests)
    }

    /// The requests that never became a line.
    pub(crate) fn lost(&self) -> u64 {
        lock(&self.status).lost
    }
}
