//! Follows the log through rotation, truncation and restarts.
//!
//! At each poll the reader looks at the log's path, opens the file there if it is a new one, and reads
//! every open file to its end. A replaced file stays open for [`KEEP_REPLACED`], since nginx' workers
//! write to it until they have reopened their logs. A file that became shorter is read from its
//! beginning.

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
/// Read at once. A scrape waits at most for the counting of this much, a fraction of a millisecond.
const BLOCK_BYTES: usize = 128 * 1024;
/// Blocks of one file that are read before the offset is saved and the other files have their turn.
const BLOCKS_PER_POLL: usize = 64;
/// Freed at once; a multiple of every filesystem's block.
const FREE_BYTES: u64 = 1 << 20;

/// An open log file. Its progress has the same index in [`crate::progress::Done::files`].
struct OpenLog {
    file: Arc<File>,
    identity: Identity,
    is_in_long_line: bool,
    grew_at: Instant,
    /// Bytes from the beginning that are freed.
    freed: u64,
}

pub(crate) struct Follower {
    path: PathBuf,
    progress: Arc<Progress>,
    /// Leaves out what nobody reads, where the log has no more room.
    printer: Printer,
    /// The oldest first; the last one is the file at the path.
    logs: Vec<OpenLog>,
    block: Box<[u8]>,
    keep_replaced: Duration,
    can_free: bool,
    /// The errors that were logged last, so that a lasting one is logged once.
    last_errors: [String; 2],
}

#[derive(Clone, Copy)]
enum Task {
    Read,
    Save,
}

impl Follower {
    /// Follows the log at `path`, from the offsets in the offset files on. The log need not exist.
    pub(crate) fn new(path: PathBuf, progress: Arc<Progress>, printer: Printer) -> Self {
        let [counted, printed] = offset_files(&path).map(|file| {
            read_positions(&file).unwrap_or_else(|error| {
                let (error, file) = (error.to_string(), file.display());
                tracing::warn!(error, %file, "cannot read the offset file, lines are taken again");
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

    /// Opens the files of the offset file, under whichever name they have now. An earlier version of this program
    /// printed nothing.
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

    /// Whether the log has been there.
    pub(crate) fn has_log(&self) -> bool {
        !self.logs.is_empty()
    }

    /// Reads what is new in all files, then saves the offsets and frees what no restart needs.
    /// Returns whether there is more to read.
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

    /// Opens the file at the path if it is not the one that is open. While rotation has renamed it
    /// and nginx has made no new one, there is none.
    fn open_new(&mut self) -> io::Result<()> {
        let identity = match self.path.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            metadata => Identity::of(&metadata?),
        };
        if self.logs.last().is_some_and(|log| log.identity == identity) {
            return Ok(());
        }
        let file = open(&self.path)?;
        // It may have been replaced just now.
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

    /// Reads to the file's end, or as much as one file may at a time. Returns whether there is more.
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

    /// Counts the next lines; `false` if there are none.
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

    /// Closes replaced files that have been silent and are printed. A last line without its newline is malformed.
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

    /// Gives the filesystem back what no restart needs, in whole steps. nginx appends, so the file's
    /// length must stay.
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
                    tracing::warn!(error, "cannot free what was read, the log needs rotation");
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

/// Opens a log for reading, and for freeing what was read if the permissions allow it.
fn open(path: &Path) -> io::Result<File> {
    match OpenOptions::new().read(true).write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(path),
        file => file,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    use tempfile::TempDir;

    use super::*;
    use crate::json::Lines;

    const KEEP_BYTES: usize = 4 << 20;
    const LINE: &str = "1732250000.123\tqrcode\tnew\tnew\t200\t0.003\t10\t10.0.0.1:80\tGET\tan-id\t\t/qrcode\t10.0.0.9\t\
        200\t0.001\t0.002\t0.003\n";

    /// A log in a folder, and the reader of it.
    struct Place {
        folder: TempDir,
        follower: Follower,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let follower = start(&folder);
            Place { folder, follower }
        }

        fn log(&self) -> PathBuf {
            self.folder.path().join("edge.log")
        }

        /// As nginx does: appends, and makes the file if it is missing.
        fn write(&self, text: &str) {
            append(&self.log(), text);
        }

        fn rotate(&self, name: &str) -> PathBuf {
            let to = self.folder.path().join(name);
            fs::rename(self.log(), &to).unwrap();
            to
        }

        /// The lines and malformed lines counted after a poll.
        fn poll(&mut self) -> (u64, u64) {
            while self.follower.poll() {}
            let done = self.follower.progress.done();
            (done.counts.lines, done.counts.malformed)
        }

        fn scrape(&self) {
            self.follower.progress.scrape();
            self.follower.progress.save(true).unwrap();
        }

        /// Prints what is counted; returns how many lines.
        fn print(&self) -> usize {
            let (progress, mut lines, mut count) = (&self.follower.progress, Vec::new(), 0);
            while progress.take_lines(&mut lines).unwrap() {
                assert!(lines.ends_with(b"\n") || lines.is_empty());
                count += lines.iter().filter(|&&byte| byte == b'\n').count();
            }
            progress.save(true).unwrap();
            count
        }

        /// The reader is killed and started again.
        fn restart(&mut self) {
            self.follower = start(&self.folder);
        }

        fn restarts_of_log(&self) -> u64 {
            self.follower.progress.done().restarts_of_log
        }
    }

    fn start(folder: &TempDir) -> Follower {
        let log = folder.path().join("edge.log");
        let progress =
            Arc::new(Progress::new(&["qrcode".to_owned()], offset_files(&log), KEEP_BYTES as u64));
        let printer = Printer::new(Arc::clone(&progress), Lines::new(100.0));
        Follower::new(log, progress, printer)
    }

    fn append(path: &Path, text: &str) {
        let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn the_log_may_come_later() {
        let mut place = Place::new();
        assert_eq!(place.poll(), (0, 0));
        assert!(!place.follower.has_log());
        place.write(LINE);
        assert_eq!(place.poll(), (1, 0));
        assert!(place.follower.has_log());
        assert_eq!(place.restarts_of_log(), 0);
    }

    #[test]
    fn a_line_in_parts_counts_once() {
        let mut place = Place::new();
        for part in [&LINE[..20], &LINE[20..50]] {
            place.write(part);
            assert_eq!(place.poll(), (0, 0));
        }
        place.write(&LINE[50..]);
        assert_eq!(place.poll(), (1, 0));
    }

    #[test]
    fn blocks_end_anywhere_in_a_line() {
        let mut place = Place::new();
        let lines = 10 * BLOCK_BYTES / LINE.len();
        place.write(&LINE.repeat(lines));
        assert_eq!(place.poll(), (lines as u64, 0));
    }

    #[test]
    fn after_a_restart_reading_goes_on_behind_the_last_scrape() {
        let mut place = Place::new();
        place.write(&LINE.repeat(3));
        place.poll();
        place.scrape();
        place.write(&LINE.repeat(5));
        assert_eq!(place.poll(), (8, 0));
        place.write(&LINE.repeat(7)); // while nobody reads
        place.restart();
        assert_eq!(place.poll(), (5 + 7, 0));
        assert_eq!(place.restarts_of_log(), 0);
    }

    #[test]
    fn what_is_never_scraped_is_given_up_in_the_end() {
        let mut place = Place::new();
        let lines = KEEP_BYTES / LINE.len() + 10_000;
        place.write(&LINE.repeat(lines));
        place.poll();
        place.print();
        place.write(&LINE[..30]);
        place.poll();
        place.restart();
        let (again, malformed) = place.poll();
        assert!(again < lines as u64 / 2, "{again} of {lines}");
        assert_eq!(malformed, 0, "it begins with a whole line");
    }

    #[test]
    fn a_rotated_log_is_read_to_its_end_and_the_new_one_from_its_beginning() {
        let mut place = Place::new();
        place.write(&LINE.repeat(3));
        place.poll();
        place.write(LINE);
        let old = place.rotate("edge.log.1");
        append(&old, LINE);
        assert_eq!(place.poll(), (5, 0));
        append(&old, LINE);
        place.write(&LINE.repeat(2));
        append(&old, LINE); // a worker that has not reopened its log yet
        assert_eq!(place.poll(), (9, 0));
        append(&old, LINE);
        assert_eq!(place.poll(), (10, 0));
        assert_eq!(place.restarts_of_log(), 1);
        assert_eq!(place.follower.logs.len(), 2);
    }

    #[test]
    fn a_replaced_log_is_closed_when_it_is_silent() {
        let mut place = Place::new();
        place.write(LINE);
        place.poll();
        append(&place.rotate("edge.log.1"), &LINE[..20]);
        place.write(LINE);
        place.poll();
        place.follower.keep_replaced = Duration::ZERO;
        assert_eq!(place.poll(), (2, 0), "its lines are not printed");
        assert_eq!(place.print(), 2);
        assert_eq!(place.poll(), (3, 1), "the unfinished line is malformed");
        assert_eq!(place.follower.logs.len(), 1);
        place.write(LINE);
        assert_eq!(place.poll(), (4, 1));
    }

    #[test]
    fn a_log_that_was_rotated_while_nobody_read_is_found_again() {
        let mut place = Place::new();
        place.write(&LINE.repeat(3));
        place.poll();
        place.scrape();
        place.write(&LINE.repeat(2));
        place.rotate("edge.log.1");
        place.write(LINE);
        place.restart();
        assert_eq!(place.poll(), (3, 0));
        assert_eq!(place.restarts_of_log(), 1);
    }

    #[test]
    fn a_log_that_is_gone_is_said_and_the_new_one_is_read() {
        let mut place = Place::new();
        place.write(&LINE.repeat(3));
        place.poll();
        place.scrape();
        fs::remove_file(place.log()).unwrap();
        // The filesystem may use the inode again, and knows times of birth to some milliseconds.
        std::thread::sleep(Duration::from_millis(20));
        place.write(&LINE.repeat(4));
        place.restart();
        assert_eq!(place.poll(), (4, 0));
        assert_eq!(place.restarts_of_log(), 1);
    }

    #[test]
    fn a_truncated_log_is_read_from_its_beginning() {
        let mut place = Place::new();
        place.write(&LINE.repeat(3));
        place.poll();
        File::create(place.log()).unwrap();
        place.write(LINE);
        assert_eq!(place.poll(), (4, 0));
        assert_eq!(place.restarts_of_log(), 1);
    }

    #[test]
    fn what_was_scraped_and_printed_is_freed_and_the_rest_stays() {
        let mut place = Place::new();
        let lines = (3 << 20) / LINE.len();
        place.write(&LINE.repeat(lines));
        place.poll();
        let blocks = place.log().metadata().unwrap().blocks();
        place.poll();
        assert_eq!(place.log().metadata().unwrap().blocks(), blocks, "nothing is scraped yet");
        place.scrape();
        place.poll();
        assert_eq!(place.log().metadata().unwrap().blocks(), blocks, "nothing is printed yet");
        assert_eq!(place.print(), lines);
        place.poll();
        let metadata = place.log().metadata().unwrap();
        if place.follower.can_free {
            assert!(metadata.blocks() < blocks / 2, "{} of {blocks}", metadata.blocks());
        }
        assert_eq!(metadata.len(), (lines * LINE.len()) as u64);
        place.write(LINE);
        assert_eq!(place.poll(), (lines as u64 + 1, 0));
        place.restart();
        assert_eq!(place.poll(), (1, 0));
    }

    #[test]
    fn a_broken_offset_file_means_reading_from_the_beginning() {
        let mut place = Place::new();
        place.write(&LINE.repeat(3));
        place.poll();
        place.scrape();
        let [counted, _] = offset_files(&place.log());
        fs::write(counted, "nonsense").unwrap();
        place.restart();
        assert_eq!(place.poll(), (3, 0));
    }

    #[test]
    fn a_restart_prints_what_was_not_printed_and_nothing_twice() {
        let mut place = Place::new();
        place.write(&LINE.repeat(3));
        place.poll();
        assert_eq!((place.print(), place.print()), (3, 0));
        place.write(&LINE.repeat(4));
        place.poll();
        place.scrape();
        place.restart();
        assert_eq!((place.poll(), place.print()), ((0, 0), 4), "all is counted");
        place.write(&LINE.repeat(5));
        place.poll();
        place.print();
        place.restart();
        assert_eq!((place.poll(), place.print()), ((5, 0), 0), "all is printed");
    }

    #[test]
    fn of_a_log_that_an_earlier_version_counted_only_the_rest_is_printed() {
        let mut place = Place::new();
        place.write(&LINE.repeat(3));
        place.poll();
        place.scrape();
        let [_, printed] = offset_files(&place.log());
        fs::remove_file(printed).unwrap();
        place.write(&LINE.repeat(2));
        place.restart();
        assert_eq!((place.poll(), place.print()), ((2, 0), 2));
    }

    #[test]
    fn beyond_the_bound_lines_that_nobody_reads_are_left_out_the_oldest_first() {
        let mut place = Place::new();
        let lines = KEEP_BYTES / LINE.len() + 10_000;
        place.write(&LINE.repeat(lines));
        assert_eq!(place.poll(), (lines as u64, 0));
        let left_out = place.follower.progress.left_out() as usize;
        assert!((9_000..11_000).contains(&left_out), "{left_out}");
        assert_eq!(place.print(), lines - left_out);
    }

    #[test]
    fn all_that_can_be_in_a_log_is_read_without_a_panic() {
        let mut place = Place::new();
        place.write("\n\n\t\t\n\u{0}\u{0}");
        place.write(&"x".repeat(3 * BLOCK_BYTES));
        place.write(&format!("\n{LINE}"));
        assert_eq!(place.poll(), (5, 4));
    }
}
