//! CPU time and memory of a process tree, from /proc.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Time between two samples. Reading a process' PSS costs that process about a millisecond.
const INTERVAL: Duration = Duration::from_millis(250);

/// Samples a process tree's memory in a thread.
pub struct Sampler {
    over: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Sampler {
    /// Starts sampling the trees below `roots`.
    pub fn start(roots: Vec<i32>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&over);
        let thread = thread::spawn(move || {
            let mut peak = 0;
            while !told.load(Ordering::Relaxed) {
                peak = memory(&roots).max(peak);
                thread::sleep(INTERVAL);
            }
            peak
        });
        Sampler { over, thread }
    }

    /// Stops sampling and returns the peak in bytes.
    pub fn finish(self) -> u64 {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

/// The processes in the trees below `roots`, roots included. One may end while this runs.
pub(super) fn tree(roots: &[i32]) -> Vec<i32> {
    let mut found = roots.to_vec();
    let mut at = 0;
    while at < found.len() {
        let threads = fs::read_dir(format!("/proc/{}/task", found[at])).into_iter().flatten();
        for thread in threads.flatten() {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            found.extend(children.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        }
        at += 1;
    }
    found
}

/// The memory of the trees below `roots` now, in bytes: their proportional set size, in which a page that processes share
/// counts once.
pub fn memory(roots: &[i32]) -> u64 {
    let of = |pid| {
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        let kib = rollup.lines().find_map(|line| line.strip_prefix("Pss:")?.strip_suffix("kB"));
        kib.and_then(|kib| kib.trim().parse::<u64>().ok()).unwrap_or(0) * 1024
    };
    tree(roots).into_iter().map(of).sum()
}

/// CPU seconds of the trees so far, including children that have ended and were waited for.
pub fn cpu_seconds(roots: &[i32]) -> f64 {
    let ticks = |pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // After the name, which may have spaces; utime, stime, cutime and cstime are the 14th to 17th of all (proc(5)).
        let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields).split(' ');
        fields.skip(11).take(4).filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>()
    };
    let ticks: u64 = tree(roots).into_iter().map(ticks).sum();
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}
