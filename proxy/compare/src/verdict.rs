//! The result of a comparison. The first rule that applies gives it:
//!
//! 1. A side gave no answer ([`Reason`]): `timeout` if it was too slow, else `new_error` or
//!    `old_error`. If both failed, the new side's failure is the result: it is the side on trial.
//! 2. The route's [`Judge`] says whether the answers are the same: `match`, or `mismatch` and its kind.
//!    Where the judge itself failed the result is `unjudged`, which is never a match.

use serde::{Serialize, Serializer};
use service_kit::label_value;

use crate::asked::Asked;
use crate::client::{Failure, Reason, Reply};
use crate::judge::{self, Judge};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Match,
    Mismatch,
    /// The new side gave no answer.
    NewError,
    /// The old side gave no answer.
    OldError,
    /// One of the sides was too slow.
    Timeout,
    /// The judge failed.
    Unjudged,
    /// The user's judge did not want to judge.
    Skipped,
}

impl Outcome {
    pub(crate) const ALL: [Outcome; 7] = [
        Outcome::Match,
        Outcome::Mismatch,
        Outcome::NewError,
        Outcome::OldError,
        Outcome::Timeout,
        Outcome::Unjudged,
        Outcome::Skipped,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Outcome::Match => "match",
            Outcome::Mismatch => "mismatch",
            Outcome::NewError => "new_error",
            Outcome::OldError => "old_error",
            Outcome::Timeout => "timeout",
            Outcome::Unjudged => "unjudged",
            Outcome::Skipped => "skipped",
        }
    }
}

label_value!(Outcome);

/// What differs in a mismatch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kind(pub(crate) judge::Kind);

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0.as_str())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) outcome: Outcome,
    /// What differs; `None` unless the outcome is a mismatch.
    pub(crate) kind: Option<Kind>,
    /// What exactly differs; may quote both answers.
    pub(crate) detail: Option<String>,
    /// Why the judge failed; quotes neither answer.
    pub(crate) problem: Option<String>,
}

impl Verdict {
    fn only(outcome: Outcome) -> Self {
        Verdict { outcome, kind: None, detail: None, problem: None }
    }

    pub(crate) fn unjudged(problem: impl Into<String>) -> Self {
        Verdict { problem: Some(problem.into()), ..Verdict::only(Outcome::Unjudged) }
    }
}

pub(crate) fn judge(judge: &Judge, asked: &Asked, new: &Reply, old: &Reply) -> Verdict {
    let (new, old) = match (&new.outcome, &old.outcome) {
        (Err(failure), _) => return failed(failure, Outcome::NewError),
        (_, Err(failure)) => return failed(failure, Outcome::OldError),
        (Ok(new), Ok(old)) => (new, old),
    };
    match judge.compare(&asked.for_judge(), &old.for_judge(), &new.for_judge()) {
        judge::Verdict::Same => Verdict::only(Outcome::Match),
        judge::Verdict::Skipped => Verdict::only(Outcome::Skipped),
        judge::Verdict::Unjudged { reason } => Verdict::unjudged(reason),
        judge::Verdict::Different { kind, detail } => Verdict {
            kind: Some(Kind(kind)),
            detail: Some(detail),
            ..Verdict::only(Outcome::Mismatch)
        },
    }
}

/// Whether two answers of the old side to the same request differ, by the route's judge; `None` if there
/// is no verdict.
pub(crate) fn differ(judge: &Judge, asked: &Asked, first: &Reply, second: &Reply) -> Option<bool> {
    let (Ok(first), Ok(second)) = (&first.outcome, &second.outcome) else { return None };
    match judge.compare(&asked.for_judge(), &first.for_judge(), &second.for_judge()) {
        judge::Verdict::Same => Some(false),
        judge::Verdict::Different { .. } => Some(true),
        judge::Verdict::Skipped | judge::Verdict::Unjudged { .. } => None,
    }
}

fn failed(failure: &Failure, error: Outcome) -> Verdict {
    Verdict::only(if failure.reason == Reason::Timeout { Outcome::Timeout } else { error })
}
