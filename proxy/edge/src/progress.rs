//! What the reader, the printer, the metrics and the watcher of nginx' status share.
//!
//! A restarted `edge` counts from 0, and Prometheus adds its counts to those of the last scrape
//! before. So each line must be in a scrape of one of the two processes, and not of both: the offset
//! file has the position of the last scrape, not that of the reader. Lines that were read but not
//! scraped are read again. What was printed is not printed again, so that has a file of its own.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::counts::Counts;
use crate::loss::{Connections, LAG, Lines, Reading};
use crate::position::{Identity, Position, write_positions};

/// Bytes whose lines are printed at a time.
const PART_BYTES: u64 = 64 << 10;
/// Between two writes of what was printed. Who kills `edge` finds the lines of this time printed twice.
const SAVE_PERIOD: Duration = Duration::from_secs(1);

/// How far one log file has been read.
#[derive(Clone, Debug)]
pub(crate) struct FileProgress {
    pub(crate) identity: Identity,
    pub(crate) file: Arc<File>,
    /// Bytes that are counted.
    pub(crate) read: u64,
    /// Bytes that a restart does not count again.
    pub(crate) kept: u64,
    /// Bytes that the printer has taken.
    pub(crate) taken: u64,
    /// Bytes that a restart does not print again.
    pub(crate) printed: u64,
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
    /// Lines that were not printed.
    pub(crate) left_out: u64,
}

/// The last answer of nginx' status.
#[derive(Clone, Copy, Default)]
struct Status {
    last: Option<(Reading, Connections)>,
    lost: u64,
}

/// The shared state. Each lock is held for a fraction of a millisecond, or for writing the offset
/// file.
pub(crate) struct Progress {
    done: Mutex<Done>,
    status: Mutex<Status>,
    offset_files: [PathBuf; 2],
    /// Bytes that were read and not scraped, or not printed. If there are more, nobody scrapes or reads what is printed,
    /// or too seldom: the reader gives them up, to free the file.
    keep_bytes: u64,
    saved: Mutex<Saved>,
}

/// What the offset files have.
#[derive(Default)]
struct Saved {
    positions: [Vec<Position>; 2],
    printed_at: Option<Instant>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic while counting leaves a line half counted, which is no reason to stop.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Progress {
    pub(crate) fn new(routes: &[String], offset_files: [PathBuf; 2], keep_bytes: u64) -> Self {
        let done = Done {
            counts: Counts::new(routes),
            files: Vec::new(),
            read_to_end_at: None,
            restarts_of_log: 0,
            left_out: 0,
        };
        Progress {
            done: Mutex::new(done),
            status: Mutex::default(),
            offset_files,
            keep_bytes,
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

    /// Replaces `lines` by the next whole lines that are counted and not taken yet. What was taken before is then
    /// printed. Returns `false` if there are none.
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
        // Without a newline it is the part of a line that was too long to be counted.
        let end = lines[..length].iter().rposition(|&byte| byte == b'\n').map(|last| last + 1);
        file.taken += end.map_or(wanted, |end| end as u64);
        lines.truncate(end.unwrap_or_default());
        Ok(true)
    }

    /// Whether more waits to be printed than is kept.
    pub(crate) fn is_far_behind(&self) -> bool {
        self.done().files.iter().any(|file| file.read.saturating_sub(file.taken) > self.keep_bytes)
    }

    pub(crate) fn leave_out(&self, lines: u64) {
        self.done().left_out += lines;
    }

    pub(crate) fn left_out(&self) -> u64 {
        self.done().left_out
    }

    /// Writes the offset files if they have other positions; that of what was printed, which changes all the time, once
    /// a period or `at_last`. Gives up what nobody has scraped for too long. Returns how much of each log file no
    /// restart needs.
    pub(crate) fn save(&self, at_last: bool) -> io::Result<Vec<u64>> {
        // Held until the end, so that no older positions are written over newer ones.
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
        // Without a position, a file would be taken to be printed as far as it is counted.
        let has_other_files = saved.positions[1].len() != printed.len();
        let is_due = saved.printed_at.is_none_or(|at| at.elapsed() >= SAVE_PERIOD);
        if saved.positions[1] != printed && (has_other_files || is_due || at_last) {
            write_positions(printed_file, &printed)?;
            saved.positions[1] = printed;
            saved.printed_at = Some(Instant::now());
        }
        Ok(free)
    }

    /// The lines counted so far.
    pub(crate) fn lines(&self) -> Lines {
        let done = self.done();
        Lines { count: done.counts.lines, read_to_end_at: done.read_to_end_at }
    }

    pub(crate) fn set_status(&self, reading: Reading, connections: Connections, lost: u64) {
        *lock(&self.status) = Status { last: Some((reading, connections)), lost };
    }

    /// The requests and connections that nginx has counted, unless it has not answered lately.
    pub(crate) fn nginx(&self) -> Option<(u64, Connections)> {
        let (reading, connections) = lock(&self.status).last?;
        (reading.at.elapsed() < LAG).then_some((reading.requests, connections))
    }

    /// The requests that never became a line.
    pub(crate) fn lost(&self) -> u64 {
        lock(&self.status).lost
    }
}
