//! The state that the reader, the printer, the metrics and the watcher of nginx' status share.
//!
//! A restarted `edge` counts from 0, and Prometheus adds its counts to those of the last scrape before the restart. So
//! each line must be in a scrape of exactly one of the two processes: the offset file has the position of the last
//! scrape, not that of the reader, and lines that were read but not scraped are read again. Printed lines must not be
//! printed again, so their position has a file of its own.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::counts::Counts;
use crate::loss::{Connections, LAG, StubStatus};
use crate::position::{Identity, Position, write_positions};

/// The most bytes of the log that are printed at a time.
const PART_BYTES: u64 = 64 << 10;
/// How often the printed position is saved. If `edge` is killed, the lines of this time are printed twice.
const SAVE_PERIOD: Duration = Duration::from_secs(1);

/// An open log file, and how far it has been read.
#[derive(Clone, Debug)]
pub(crate) struct FileProgress {
    pub(crate) identity: Identity,
    pub(crate) file: Arc<File>,
    pub(crate) is_in_long_line: bool,
    /// When lines were last read.
    pub(crate) grew_at: Instant,
    /// Bytes that are counted.
    pub(crate) read: u64,
    /// Bytes that a restart does not count again.
    pub(crate) kept: u64,
    /// Bytes that the printer has taken.
    pub(crate) taken: u64,
    /// Bytes that a restart does not print again.
    pub(crate) printed: u64,
    /// Bytes that no restart needs, and whose room is freed.
    pub(crate) freed: u64,
    /// The file's length when the reader last checked.
    pub(crate) length: u64,
}

/// The progress of the reader and the printer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Done {
    pub(crate) counts: Counts,
    /// The oldest first; the last one is the file at the log's path.
    pub(crate) files: Vec<FileProgress>,
    /// When the log was last read to its end.
    pub(crate) read_to_end_at: Option<Instant>,
    pub(crate) restarts_of_log: u64,
    /// Lines that were dropped instead of printed.
    pub(crate) left_out: u64,
}

/// The last answer of nginx' status.
#[derive(Clone, Copy, Debug, Default)]
struct Status {
    last: Option<(StubStatus, Connections)>,
    lost: u64,
}

/// The shared state. Each lock is held for a fraction of a millisecond, or while the offset files are written.
#[derive(Debug)]
pub(crate) struct Progress {
    done: Mutex<Done>,
    status: Mutex<Status>,
    offset_files: [PathBuf; 2],
    /// The most bytes that may be read but not scraped, or not printed. If there are more, nobody scrapes or reads the
    /// output often enough, and the reader gives the lines up to free the file.
    keep_bytes: u64,
    saved: Mutex<Offsets>,
}

/// The content of the offset files.
#[derive(Debug, Default)]
struct Offsets {
    positions: [Vec<Position>; 2],
    printed_at: Option<Instant>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic while counting leaves at most one line half counted, so the counters can still be used.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Progress {
    pub(crate) fn new(routes: &[String], offset_files: [PathBuf; 2], keep_bytes: u64) -> Self {
        Progress {
            done: Mutex::new(Done { counts: Counts::new(routes), ..Done::default() }),
            status: Mutex::default(),
            offset_files,
            keep_bytes,
            saved: Mutex::default(),
        }
    }

    /// Locks the progress. The reader counts a block's lines and advances its position under one lock, so that a scrape
    /// and its position agree.
    pub(crate) fn done(&self) -> MutexGuard<'_, Done> {
        lock(&self.done)
    }

    /// All counters for a scrape. From now on, a restart skips the lines in them.
    pub(crate) fn scrape(&self) -> Done {
        let mut done = self.done();
        for file in &mut done.files {
            file.kept = file.read;
        }
        done.clone()
    }

    /// Replaces `lines` by the next whole lines that are counted but not taken yet. Marks the lines taken before as
    /// printed. Returns `false` if there are no lines. Fails if the log cannot be read.
    pub(crate) fn take_lines(&self, lines: &mut Vec<u8>) -> io::Result<bool> {
        let mut done = self.done();
        for file in &mut done.files {
            file.printed = file.taken;
        }
        let Some(file) = done.files.iter_mut().find(|file| file.taken < file.read) else {
            return Ok(false);
        };
        let wanted = (file.read - file.taken).min(PART_BYTES);
        lines.resize(wanted as usize, 0);
        let length = file.file.read_at(lines, file.taken)?;
        // Without a newline, these bytes are part of a line that was too long to be counted.
        let end = lines[..length].iter().rposition(|&byte| byte == b'\n').map(|last| last + 1);
        file.taken += end.map_or(wanted, |end| end as u64);
        lines.truncate(end.unwrap_or_default());
        Ok(true)
    }

    /// Whether more bytes wait to be printed than may be kept.
    pub(crate) fn is_far_behind(&self) -> bool {
        self.done().files.iter().any(|file| file.read.saturating_sub(file.taken) > self.keep_bytes)
    }

    /// Writes the offset files if the positions have changed. The printed position changes all the time, so it is
    /// written once per [`SAVE_PERIOD`], or now if `at_last`. Gives up lines that nobody has scraped for too long.
    /// Returns how many bytes of each log file no restart needs. Fails if a file cannot be written.
    pub(crate) fn save(&self, at_last: bool) -> io::Result<Vec<u64>> {
        // Held until the end, so that older positions never overwrite newer ones.
        let mut saved = lock(&self.saved);
        let (mut kept, mut printed) = (Vec::new(), Vec::new());
        for file in &mut self.done().files {
            if file.read - file.kept > self.keep_bytes {
                file.kept = file.read;
            }
            kept.push(Position { identity: file.identity, offset: file.kept });
            printed.push(Position { identity: file.identity, offset: file.printed });
        }
        let free = kept.iter().zip(&printed).map(|(kept, printed)| kept.offset.min(printed.offset));
        let free = free.collect();
        let [kept_file, printed_file] = &self.offset_files;
        if saved.positions[0] != kept {
            write_positions(kept_file, &kept)?;
            saved.positions[0] = kept;
        }
        // Without a saved position, a restart would treat a file as printed up to where it is counted.
        let has_other_files = saved.positions[1].len() != printed.len();
        let is_due = saved.printed_at.is_none_or(|at| at.elapsed() >= SAVE_PERIOD);
        if saved.positions[1] != printed && (has_other_files || is_due || at_last) {
            write_positions(printed_file, &printed)?;
            saved.positions[1] = printed;
            saved.printed_at = Some(Instant::now());
        }
        Ok(free)
    }

    pub(crate) fn set_status(&self, reading: StubStatus, connections: Connections, lost: u64) {
        *lock(&self.status) = Status { last: Some((reading, connections)), lost };
    }

    /// The requests and connections that nginx has counted; `None` if it has not answered lately.
    pub(crate) fn nginx(&self) -> Option<(u64, Connections)> {
        let (reading, connections) = lock(&self.status).last?;
        (reading.at.elapsed() < LAG).then_some((reading.requests, connections))
    }

    /// The requests that never became a line.
    pub(crate) fn lost(&self) -> u64 {
        lock(&self.status).lost
    }
}

#[cfg(test)]
mod tests;
