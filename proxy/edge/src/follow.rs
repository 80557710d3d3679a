//! Follows the log through rotation, truncation and restarts.
//!
//! At each poll the reader checks the log's path, opens the file there if it is a new one, and reads every open file to
//! its end. A replaced file stays open for [`KEEP_REPLACED`], since nginx' workers write to it until they have reopened
//! their logs. A file that became shorter is read from its beginning.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, fallocate};

use crate::position::{Identity, Position, find_renamed, offset_files, read_positions};
use crate::print::Printer;
use crate::progress::{FileProgress, Progress};

/// How long a replaced file may be silent before it is closed.
const KEEP_REPLACED: Duration = Duration::from_secs(60);
/// The bytes that are read at once. A scrape waits at most until this much is counted, a fraction of a millisecond.
const BLOCK_BYTES: usize = 128 * 1024;
/// The most blocks of one file that are read before the offset is saved and the other files are read.
const BLOCKS_PER_POLL: usize = 64;
/// The bytes that are freed at once, a multiple of every filesystem's block size.
const FREE_BYTES: u64 = 1 << 20;

/// An open log file. Its progress has the same index in [`crate::progress::Done::files`].
struct OpenLog {
    file: Arc<File>,
    identity: Identity,
    is_in_long_line: bool,
    grew_at: Instant,
    /// How many bytes from the beginning are freed.
    freed: u64,
}

pub(crate) struct Follower {
    path: PathBuf,
    progress: Arc<Progress>,
    /// Drops lines that nobody reads if the log has no more room.
    printer: Printer,
    /// The oldest first; the last one is the file at the path.
    logs: Vec<OpenLog>,
    block: Box<[u8]>,
    keep_replaced: Duration,
    can_free: bool,
    /// The last errors, so that a lasting error is logged once.
    last_errors: [String; 2],
}

#[derive(Clone, Copy)]
enum Task {
    Read,
    Save,
}

impl Follower {
    /// Follows the log at `path` from the offsets in the offset files. The log need not exist yet.
    pub(crate) fn new(path: PathBuf, progress: Arc<Progress>, printer: Printer) -> Self {
        let [counted, printed] = offset_files(&path).map(|file| {
            read_positions(&file).unwrap_or_else(|error| {
                let (error, file) = (error.to_string(), file.display());
                tracing::warn!(error, %file, "cannot read the offset file, lines are read again");
                Vec::new()
            })
        });
        let mut follower = Follower {
            path,
            progress,
            printer,
            logs: Vec::new(),
            block: vec![0; BLOCK_BYTES].into(),
            keep_replaced: KEEP_REPLACED,
            can_free: true,
            last_errors: Default::default(),
        };
        follower.resume(&counted, &printed);
        follower
    }

    /// Opens the files of the offset file under the names that they have now. A file without a printed position was
    /// counted by an earlier version, which printed nothing: its counted lines are not printed later.
    fn resume(&mut self, counted: &[Position], printed: &[Position]) {
        for position in counted {
            let is_it = |other: &&Position| other.identity == position.identity;
            let printed = printed.iter().find(is_it).unwrap_or(position).offset;
            match find_renamed(&self.path, position.identity, open) {
                Some(file) => self.add(file, position.identity, position.offset, printed),
                None => self.restart("a log file is gone, its unread lines are lost"),
            }
        }
    }

    /// Whether the log has ever been found.
    pub(crate) fn has_log(&self) -> bool {
        !self.logs.is_empty()
    }

    /// Reads the new lines of all files, then saves the offsets and frees the bytes that no restart needs. Returns
    /// whether there is more to read.
    pub(crate) fn poll(&mut self) -> bool {
        let outcome = self.read();
        let has_more = *outcome.as_ref().unwrap_or(&false);
        self.report(Task::Read, "cannot read the log", outcome);
        self.printer.leave_out();
        let outcome = self.progress.save(false).map(|free| self.free(&free));
        self.report(Task::Save, "cannot write the offset file", outcome);
        has_more
    }

    fn read(&mut self) -> io::Result<bool> {
        self.open_new()?;
        let begun = Instant::now();
        let mut has_more = false;
        for index in 0..self.logs.len() {
            has_more |= self.read_blocks(index)?;
        }
        if self.has_log() && !has_more {
            self.progress.done().read_to_end_at = Some(begun);
        }
        self.close_replaced();
        Ok(has_more)
    }

    /// Opens the file at the path if it is not open yet. Does nothing while rotation has renamed the file and nginx has
    /// not created a new one.
    fn open_new(&mut self) -> io::Result<()> {
        let identity = match self.path.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            metadata => Identity::of(&metadata?),
        };
        if self.logs.last().is_some_and(|log| log.identity == identity) {
            return Ok(());
        }
        let file = open(&self.path)?;
        // The path may have been replaced between the two calls.
        let identity = Identity::of(&file.metadata()?);
        if self.has_log() {
            self.restart("the log was replaced");
        }
        self.add(file, identity, 0, 0);
        Ok(())
    }

    fn add(&mut self, file: File, identity: Identity, offset: u64, printed: u64) {
        tracing::info!(path = %self.path.display(), offset, printed, "reading");
        let (is_in_long_line, grew_at) = (false, Instant::now());
        let file = Arc::new(file);
        self.progress.done().files.push(FileProgress {
            identity,
            file: Arc::clone(&file),
            read: offset,
            kept: offset,
            taken: printed,
            printed,
            length: offset,
        });
        self.logs.push(OpenLog { file, identity, is_in_long_line, grew_at, freed: 0 });
    }

    fn restart(&self, reason: &'static str) {
        tracing::info!(path = %self.path.display(), "{reason}");
        self.progress.done().restarts_of_log += 1;
    }

    /// Reads to the file's end, but at most [`BLOCKS_PER_POLL`] blocks. Returns whether there is more.
    fn read_blocks(&mut self, index: usize) -> io::Result<bool> {
        let length = self.logs[index].file.metadata()?.len();
        let is_shorter = {
            let mut done = self.progress.done();
            let file = &mut done.files[index];
            file.length = length;
            let is_shorter = length < file.read.max(file.taken);
            if is_shorter {
                (file.read, file.kept, file.taken, file.printed) = (0, 0, 0, 0);
            }
            is_shorter
        };
        if is_shorter {
            self.logs[index].freed = 0;
            self.logs[index].is_in_long_line = false;
            self.restart("the log is shorter than before, it was truncated");
        }
        for _ in 0..BLOCKS_PER_POLL {
            if !self.read_block(index)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Counts the lines of the next block; `false` if there is none.
    fn read_block(&mut self, index: usize) -> io::Result<bool> {
        let log = &mut self.logs[index];
        let offset = self.progress.done().files[index].read;
        let length = match log.file.read_at(&mut self.block, offset) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            length => length?,
        };
        let mut done = self.progress.done();
        let taken = done.counts.take(&self.block[..length], &mut log.is_in_long_line);
        let file = &mut done.files[index];
        file.read += taken as u64;
        file.length = file.length.max(offset + length as u64);
        if taken > 0 {
            log.grew_at = Instant::now();
        }
        Ok(taken > 0)
    }

    /// Closes replaced files that are printed and have been silent for long enough. Counts a last line without a
    /// newline as malformed.
    fn close_replaced(&mut self) {
        let replaced = self.logs.len().saturating_sub(1);
        for index in (0..replaced).rev() {
            let mut done = self.progress.done();
            let is_printed = done.files[index].printed >= done.files[index].read;
            if is_printed && self.logs[index].grew_at.elapsed() >= self.keep_replaced {
                self.logs.remove(index);
                let file = done.files.remove(index);
                if file.length > file.read {
                    done.counts.lines += 1;
                    done.counts.malformed += 1;
                }
            }
        }
    }

    /// Frees the bytes up to `ends`, which no restart needs, in steps of [`FREE_BYTES`]. The file keeps its length,
    /// since nginx appends to it.
    fn free(&mut self, ends: &[u64]) {
        for (log, end) in self.logs.iter_mut().zip(ends) {
            let end = end / FREE_BYTES * FREE_BYTES;
            if !self.can_free || end <= log.freed {
                continue;
            }
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            match fallocate(&log.file, hole, log.freed, end - log.freed) {
                Ok(()) => log.freed = end,
                Err(error) => {
                    self.can_free = false;
                    let error = error.to_string();
                    tracing::warn!(
                        error,
                        "cannot free the lines that were read, so the log needs rotation"
                    );
                }
            }
        }
    }

    /// Logs an error unless it is the same as at the last poll.
    fn report<T>(&mut self, task: Task, what: &'static str, outcome: io::Result<T>) {
        let error = outcome.err().map(|error| error.to_string()).unwrap_or_default();
        let last = &mut self.last_errors[task as usize];
        if *last != error && !error.is_empty() {
            tracing::warn!(error, path = %self.path.display(), "{what}");
        }
        *last = error;
    }
}

/// Opens a log for reading and, if the permissions allow it, for freeing the lines that were read.
fn open(path: &Path) -> io::Result<File> {
    match OpenOptions::new().read(true).write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(path),
        file => file,
    }
}

#[cfg(test)]
mod tests;
