//! Follows the log through rotation, truncation and restarts.
//!
//! At each poll the reader checks the log's path, opens the file there if it is a new one, and reads every open file to
//! its end. A replaced file stays open for [`KEEP_REPLACED`], since nginx' workers write to it until they have reopened
//! their logs. A file that became shorter is read from its beginning.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, fallocate};

use crate::cut::Errors;
use crate::position::{Identity, Position, find_renamed, offset_files, read_positions};
use crate::print::Printer;
use crate::progress::{Done, FileProgress, Progress};

/// How long a replaced file may be silent before it is closed.
const KEEP_REPLACED: Duration = Duration::from_secs(60);
/// The bytes that are read at once. A scrape waits at most until this much is counted, a fraction of a millisecond.
const BLOCK_BYTES: usize = 128 * 1024;
/// The most blocks of one file that are read before the offset is saved and the other files are read.
const BLOCKS_PER_POLL: usize = 64;
/// The bytes that are freed at once, a multiple of every filesystem's block size.
const FREE_BYTES: u64 = 1 << 20;

pub(crate) struct Follower {
    path: PathBuf,
    progress: Arc<Progress>,
    /// Drops lines that nobody reads if the log has no more room.
    printer: Printer,
    block: Box<[u8]>,
    errors: Errors,
    keep_replaced: Duration,
    can_free: bool,
    /// The last error of each task, so that a lasting error is logged once.
    last_errors: BTreeMap<&'static str, String>,
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
            errors: Errors::beside(&path),
            path,
            progress,
            printer,
            block: vec![0; BLOCK_BYTES].into(),
            keep_replaced: KEEP_REPLACED,
            can_free: true,
            last_errors: BTreeMap::new(),
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
                None => {
                    let reason = "a log file is gone, its unread lines are lost";
                    self.restart(&mut self.progress.done(), reason);
                }
            }
        }
    }

    /// Whether the log has ever been found.
    pub(crate) fn has_log(&self) -> bool {
        !self.progress.done().files.is_empty()
    }

    /// Reads the new lines of all files, then saves the offsets and frees the bytes that no restart needs. Returns
    /// whether there is more to read.
    pub(crate) fn poll(&mut self) -> bool {
        let outcome = self.read();
        let has_more = *outcome.as_ref().unwrap_or(&false);
        self.report("cannot read the log", outcome);
        self.printer.leave_out();
        let outcome = self.progress.save(false).map(|free| self.free(&free));
        self.report("cannot write the offset file", outcome);
        has_more
    }

    fn read(&mut self) -> io::Result<bool> {
        self.open_new()?;
        let begun = Instant::now();
        let mut has_more = false;
        let count = self.progress.done().files.len();
        for index in 0..count {
            has_more |= self.read_blocks(index)?;
        }
        if count > 0 && !has_more {
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
        if self.progress.done().files.last().is_some_and(|log| log.identity == identity) {
            return Ok(());
        }
        let file = open(&self.path)?;
        // The path may have been replaced between the two calls.
        let identity = Identity::of(&file.metadata()?);
        if self.has_log() {
            self.restart(&mut self.progress.done(), "the log was replaced");
        }
        self.add(file, identity, 0, 0);
        Ok(())
    }

    fn add(&mut self, file: File, identity: Identity, offset: u64, printed: u64) {
        tracing::info!(path = %self.path.display(), offset, printed, "reading");
        self.progress.done().files.push(FileProgress {
            identity,
            file: Arc::new(file),
            is_in_long_line: false,
            grew_at: Instant::now(),
            read: offset,
            kept: offset,
            taken: printed,
            printed,
            freed: 0,
            length: offset,
        });
    }

    fn restart(&self, done: &mut Done, reason: &'static str) {
        tracing::info!(path = %self.path.display(), "{reason}");
        done.restarts_of_log += 1;
    }

    /// Reads to the file's end, but at most [`BLOCKS_PER_POLL`] blocks. Returns whether there is more.
    fn read_blocks(&mut self, index: usize) -> io::Result<bool> {
        let file = Arc::clone(&self.progress.done().files[index].file);
        let length = file.metadata()?.len();
        let mut done = self.progress.done();
        let log = &mut done.files[index];
        log.length = length;
        if length < log.read.max(log.taken) {
            (log.read, log.kept, log.taken, log.printed, log.freed) = (0, 0, 0, 0, 0);
            log.is_in_long_line = false;
            self.restart(&mut done, "the log is shorter than before, it was truncated");
        }
        drop(done);
        for _ in 0..BLOCKS_PER_POLL {
            if !self.read_block(&file, index)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Counts the lines of the next block; `false` if there is none.
    fn read_block(&mut self, file: &File, index: usize) -> io::Result<bool> {
        let offset = self.progress.done().files[index].read;
        let length = match file.read_at(&mut self.block, offset) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            length => length?,
        };
        // After the lines were read, since an error is there before its line.
        let cut = self.errors.take();
        let mut done = self.progress.done();
        let Done { counts, files, .. } = &mut *done;
        counts.add_cut(cut.unwrap_or_default(), Instant::now()); // without it, cut answers count as whole
        let log = &mut files[index];
        let taken = counts.take(&self.block[..length], &mut log.is_in_long_line);
        log.read += taken as u64;
        log.length = log.length.max(offset + length as u64);
        if taken > 0 {
            log.grew_at = Instant::now();
        }
        Ok(taken > 0)
    }

    /// Closes replaced files that are printed and have been silent for long enough. Counts a last line without a
    /// newline as malformed.
    fn close_replaced(&mut self) {
        let mut done = self.progress.done();
        let replaced = done.files.len().saturating_sub(1);
        for index in (0..replaced).rev() {
            let log = &done.files[index];
            if log.printed >= log.read && log.grew_at.elapsed() >= self.keep_replaced {
                let log = done.files.remove(index);
                if log.length > log.read {
                    done.counts.lines += 1;
                    done.counts.count_malformed();
                }
            }
        }
    }

    /// Frees the bytes up to `ends`, which no restart needs, in steps of [`FREE_BYTES`]. The file keeps its length,
    /// since nginx appends to it.
    fn free(&mut self, ends: &[u64]) {
        let logs = self.progress.done().files.clone();
        for (index, (log, end)) in logs.iter().zip(ends).enumerate() {
            let end = end / FREE_BYTES * FREE_BYTES;
            if !self.can_free || end <= log.freed {
                continue;
            }
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            match fallocate(&log.file, hole, log.freed, end - log.freed) {
                Ok(()) => self.progress.done().files[index].freed = end,
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
    fn report<T>(&mut self, what: &'static str, outcome: io::Result<T>) {
        let error = outcome.err().map(|error| error.to_string()).unwrap_or_default();
        let last = self.last_errors.insert(what, error.clone());
        if last.as_ref() != Some(&error) && !error.is_empty() {
            tracing::warn!(error, path = %self.path.display(), "{what}");
        }
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
