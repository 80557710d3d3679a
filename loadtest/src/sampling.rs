//! CPU time and peak memory of a process tree.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use procfs::WithCurrentSystemInfo;
use procfs::process::{Process, Stat, all_processes};

/// Time between two samples. Reading a process' PSS costs that process about a millisecond.
const INTERVAL: Duration = Duration::from_millis(250);

/// Peak memory of a process tree, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// Proportional set size: a page that processes share counts once.
    pub pss_bytes: u64,
    /// Resident set size: a shared page counts for each process.
    pub rss_bytes: u64,
}

/// Samples a process tree's memory in a thread.
pub struct Sampler {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Memory>,
}

impl Sampler {
    /// Starts sampling the trees below `roots`.
    pub fn start(roots: Vec<i32>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&over);
        let thread = thread::spawn(move || {
            let mut peak = Memory::default();
            while !told.load(Ordering::Relaxed) {
                let now = memory(&roots);
                peak.pss_bytes = peak.pss_bytes.max(now.pss_bytes);
                peak.rss_bytes = peak.rss_bytes.max(now.rss_bytes);
                thread::sleep(INTERVAL);
            }
            peak
        });
        Sampler { over, thread }
    }

    /// Stops sampling and returns the peak.
    pub fn finish(self) -> Memory {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

/// The processes in the trees below `roots`, roots included.
fn tree(roots: &[i32]) -> Vec<(Process, Stat)> {
    let processes = all_processes().into_iter().flatten().flatten();
    let mut by_parent: HashMap<i32, Vec<(Process, Stat)>> = HashMap::new();
    let mut found = Vec::new();
    for process in processes {
        // A process may end while this runs.
        let Ok(stat) = process.stat() else { continue };
        if roots.contains(&stat.pid) {
            found.push((process, stat));
        } else {
            by_parent.entry(stat.ppid).or_default().push((process, stat));
        }
    }
    let mut at = 0;
    while at < found.len() {
        let children = by_parent.remove(&found[at].1.pid).unwrap_or_default();
        found.extend(children);
        at += 1;
    }
    found
}

/// The memory of the trees below `roots` now.
pub fn memory(roots: &[i32]) -> Memory {
    let mut sum = Memory::default();
    for (process, stat) in tree(roots) {
        // Fails if the process has ended or belongs to another user.
        let rollup = process.smaps_rollup().ok();
        let bytes = |name| {
            let maps = &rollup.as_ref()?.memory_map_rollup;
            maps.iter().find_map(|map| map.extension.map.get(name).copied())
        };
        sum.pss_bytes += bytes("Pss").unwrap_or(0);
        // The kernel counts `stat`'s on each processor by itself, so it may miss some hundred kilobytes.
        sum.rss_bytes += bytes("Rss").unwrap_or_else(|| stat.rss_bytes().get());
    }
    sum
}

/// CPU seconds of the trees so far, including children that have ended and were waited for.
pub fn cpu_seconds(roots: &[i32]) -> f64 {
    let ticks: i64 = tree(roots)
        .iter()
        .map(|(_, stat)| stat.utime as i64 + stat.stime as i64 + stat.cutime + stat.cstime)
        .sum();
    ticks as f64 / procfs::ticks_per_second() as f64
}
