//! The verdict of a judge.

use crate::judge::difference::{DifferenceList, Differences, Kind};

/// The outcome of one comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The answers are the same.
    Same,
    /// The answers differ.
    Different(Differences),
    /// The judge itself failed. The pair was not compared and must never count as a match.
    Unjudged {
        /// The reason, for people. Does not quote the answers.
        reason: String,
    },
    /// The user's program chose not to judge this pair.
    Skipped,
}

impl Verdict {
    pub(crate) fn different(kind: Kind, detail: impl Into<String>) -> Self {
        let mut found = DifferenceList::default();
        found.whole(kind, detail);
        Verdict::of(found)
    }

    pub(crate) fn of(found: DifferenceList) -> Self {
        found.into_differences().map_or(Verdict::Same, Verdict::Different)
    }
}
