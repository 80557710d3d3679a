//! Counts of starts and failures of the user's program.

use std::sync::atomic::{AtomicU64, Ordering};

use strum::{EnumCount, IntoStaticStr, VariantArray};

/// Why the user's program was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumCount, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Failure {
    /// It could not be started.
    Start,
    /// It sent no hello in time, or an invalid one.
    Hello,
    /// It did not answer in time.
    Timeout,
    /// It ended, or closed its input or output.
    Died,
    /// It wrote a line that was too long, or more than it was asked for.
    Flooded,
    /// It sent an invalid answer.
    Nonsense,
}

impl Failure {
    pub(super) fn because(self, why: impl Into<String>) -> Trouble {
        Trouble { failure: self, why: why.into() }
    }
}

/// A failure of the program, with a description.
#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) failure: Failure,
    pub(super) why: String,
}

/// Counts of the user's program so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// How often the program was started, restarts included.
    pub starts: u64,
    failures: [u64; Failure::COUNT],
    /// Pairs that were not judged because the program was starting, or waiting for its next start.
    pub waiting: u64,
    /// Pairs that were not judged because the program was busy with earlier pairs.
    pub busy: u64,
}

impl Stats {
    /// How often the program failed in this way. Each time, it was killed, and a pair was not judged.
    pub fn failures(&self, failure: Failure) -> u64 {
        self.failures[failure as usize]
    }

    /// The counts of all failures, by name.
    pub fn failures_by_name(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Failure::VARIANTS.iter().map(<&str>::from).zip(self.failures)
    }
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) starts: AtomicU64,
    /// In the order of [`Failure`].
    pub(super) failures: [AtomicU64; Failure::COUNT],
    pub(super) waiting: AtomicU64,
    pub(super) busy: AtomicU64,
}

impl Counters {
    pub(super) fn read(&self) -> Stats {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            starts: value(&self.starts),
            failures: std::array::from_fn(|i| value(&self.failures[i])),
            waiting: value(&self.waiting),
            busy: value(&self.busy),
        }
    }
}

pub(super) fn add_one(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
