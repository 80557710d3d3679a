//! The processor's cores that servers and clients run on.

use std::thread;

use anyhow::{Context, ensure};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// A list of cores, by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cores(Vec<usize>);

impl Cores {
    /// The number of cores.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The list in `taskset -c`'s format.
    pub fn list(&self) -> String {
        self.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }

    /// Pins this thread, and all that it starts, to these cores. Servers get their own cores, so that sampling a
    /// server's memory takes no time from it. Fails if the kernel does not allow these cores.
    pub fn keep_to(&self) -> anyhow::Result<()> {
        let mut set = CpuSet::new();
        self.0.iter().for_each(|&core| set.set(core));
        sched_setaffinity(None, &set).with_context(|| format!("cores {}", self.list()))
    }

    /// Pins everything that `starts` starts to these cores. Fails as `starts` does, or if the kernel does not allow a
    /// core.
    pub fn keeping<T>(&self, starts: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
        let mine = sched_getaffinity(None)?;
        self.keep_to()?;
        let started = starts();
        sched_setaffinity(None, &mine)?;
        started
    }
}

impl std::str::FromStr for Cores {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let problem = || format!("{text:?}: must be a list of cores such as 0 or 0,1");
        let cores: Result<Vec<usize>, _> = text.split(',').map(str::parse).collect();
        let cores = cores.with_context(problem)?;
        let there = thread::available_parallelism().map_or(1, usize::from);
        let most = cores.iter().max().copied().unwrap_or(0);
        ensure!(most < there, "{text:?}: this machine has cores 0 to {}", there - 1);
        Ok(Cores(cores))
    }
}
