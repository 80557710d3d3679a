//! Counts of starts and failures of the user's program.

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
    pub(super) fn because(self, why: impl Into<String>) -> ProgramFailure {
        ProgramFailure { failure: self, why: why.into() }
    }
}

/// A failure of the program, with a description.
#[derive(Debug)]
pub(super) struct ProgramFailure {
    pub(super) failure: Failure,
    pub(super) why: String,
}

/// Counts of the user's program so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// How often the program was started, restarts included.
    pub starts: u64,
    /// In the order of [`Failure`].
    pub(super) failures: [u64; Failure::COUNT],
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
