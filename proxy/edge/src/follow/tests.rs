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

    /// A log with three lines, which are counted.
    fn with_three_lines() -> Self {
        let mut place = Place::new();
        place.write(&LINE.repeat(3));
        assert_eq!(place.poll(), (3, 0));
        place
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("edge.log")
    }

    /// Appends to the log, and creates it if it is missing, as nginx does.
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

    /// Prints the counted lines; returns their number.
    fn print(&self) -> usize {
        let (progress, mut lines, mut count) = (&self.follower.progress, Vec::new(), 0);
        while progress.take_lines(&mut lines).unwrap() {
            assert!(lines.ends_with(b"\n") || lines.is_empty());
            count += lines.iter().filter(|&&byte| byte == b'\n').count();
        }
        progress.save(true).unwrap();
        count
    }

    /// Kills the reader and starts it again.
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
    let mut place = Place::with_three_lines();
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
    let mut place = Place::with_three_lines();
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
    assert_eq!(place.follower.progress.done().files.len(), 2);
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
    assert_eq!(place.follower.progress.done().files.len(), 1);
    place.write(LINE);
    assert_eq!(place.poll(), (4, 1));
}

#[test]
fn a_log_that_was_rotated_while_nobody_read_is_found_again() {
    let mut place = Place::with_three_lines();
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
    let mut place = Place::with_three_lines();
    place.scrape();
    fs::remove_file(place.log()).unwrap();
    // The filesystem may reuse the inode, and the resolution of its times of birth is some milliseconds.
    std::thread::sleep(Duration::from_millis(20));
    place.write(&LINE.repeat(4));
    place.restart();
    assert_eq!(place.poll(), (4, 0));
    assert_eq!(place.restarts_of_log(), 1);
}

#[test]
fn a_truncated_log_is_read_from_its_beginning() {
    let mut place = Place::with_three_lines();
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
    let mut place = Place::with_three_lines();
    place.scrape();
    let [counted, _] = offset_files(&place.log());
    fs::write(counted, "nonsense").unwrap();
    place.restart();
    assert_eq!(place.poll(), (3, 0));
}

#[test]
fn a_restart_prints_what_was_not_printed_and_nothing_twice() {
    let mut place = Place::with_three_lines();
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
    let mut place = Place::with_three_lines();
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
    let left_out = place.follower.progress.done().left_out as usize;
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

#[test]
fn a_log_that_cannot_be_read_is_an_error() {
    let mut place = Place::new();
    place.write(LINE);
    assert_eq!(place.poll(), (1, 0));
    let unreadable = File::open(place.folder.path()).unwrap();
    assert!(place.follower.read_block(&unreadable, 0).is_err());
}
