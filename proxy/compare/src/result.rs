//! The result of a comparison, by the first rule that applies:
//!
//! 1. A side gave no answer ([`Reason`]): `timeout` if it was too slow, else `new_error` or
//!    `old_error`. If both failed, the new side's failure is the result, since it is the side on trial.
//! 2. Only the old side answered with a 5xx: `old_error`. This says nothing about the new side's answer.
//! 3. Both answered with a 5xx: `both_errors`. Their error pages are not compared, since the fault is no side's.
//! 4. The route's [`Judge`] decides: `match`, or `mismatch` and its kind. If the judge itself fails, the result is
//!    `unjudged`, which never counts as a match.

use crate::judge::{Differences, Judge, Kind};
use serde::Serialize;
use strum::{IntoStaticStr, VariantArray};

use crate::client::{Failure, Reason, ReceivedAnswer, Reply};
use crate::content::Content;
use crate::mirrored::MirroredRequest;

/// The two sides that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub(crate) enum Side {
    /// The side that takes over.
    New,
    /// The side to be replaced, which is the reference.
    Old,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(const_into_str, serialize_all = "snake_case")]
pub(crate) enum Outcome {
    Match,
    Mismatch,
    /// The answers differed, and when asked once more they did not.
    MismatchOnce,
    /// The new side gave no answer.
    NewError,
    /// The old side gave no answer, or only it answered with a 5xx.
    OldError,
    /// Both sides answered with a 5xx.
    BothErrors,
    /// One of the sides was too slow.
    Timeout,
    /// The judge failed.
    Unjudged,
    /// The user's judge skipped the pair, or the new side declined the request.
    Skipped,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PairResult {
    pub(crate) outcome: Outcome,
    /// The differences; `None` unless the outcome is a mismatch.
    pub(crate) differences: Option<Differences>,
    /// Why the judge failed. Does not quote the answers.
    pub(crate) problem: Option<String>,
}

impl PairResult {
    fn only(outcome: Outcome) -> Self {
        PairResult { outcome, differences: None, problem: None }
    }

    pub(crate) fn unjudged(problem: impl Into<String>) -> Self {
        PairResult { problem: Some(problem.into()), ..PairResult::only(Outcome::Unjudged) }
    }

    /// The kind of the first difference.
    pub(crate) fn kind(&self) -> Option<Kind> {
        self.differences.as_ref().map(Differences::kind)
    }
}

impl From<crate::judge::Verdict> for PairResult {
    fn from(verdict: crate::judge::Verdict) -> Self {
        match verdict {
            crate::judge::Verdict::Same => PairResult::only(Outcome::Match),
            crate::judge::Verdict::Skipped => PairResult::only(Outcome::Skipped),
            crate::judge::Verdict::Unjudged { reason } => PairResult::unjudged(reason),
            crate::judge::Verdict::Different(differences) => {
                PairResult { differences: Some(differences), ..PairResult::only(Outcome::Mismatch) }
            }
        }
    }
}

/// Judges two replies whose bodies are decoded.
pub(crate) fn judge(
    judge: &Judge,
    asked: &MirroredRequest,
    new: &Reply,
    old: &Reply,
) -> PairResult {
    let (new, old) = match (&new.outcome, &old.outcome) {
        (Err(failure), _) => return failed(failure, Outcome::NewError),
        (_, Err(failure)) => return failed(failure, Outcome::OldError),
        (Ok(new), Ok(old)) => (new, old),
    };
    if new.has_declined() {
        return PairResult::only(Outcome::Skipped);
    }
    match (old.status.is_server_error(), new.status.is_server_error()) {
        (true, true) => return PairResult::only(Outcome::BothErrors),
        (true, false) => return PairResult::only(Outcome::OldError),
        _ => {}
    }
    compare(judge, asked, old, new).into()
}

/// Compares two answers of the old side to the same request with the route's judge. `None` if there is no verdict, or
/// one of the answers is an error.
pub(crate) fn compare_with_itself(
    judge: &Judge,
    asked: &MirroredRequest,
    first: &Reply,
    second: &Reply,
) -> Option<PairResult> {
    let (Ok(first), Ok(second)) = (&first.outcome, &second.outcome) else { return None };
    if first.status.is_server_error() || second.status.is_server_error() {
        return None;
    }
    let verdict = PairResult::from(compare(judge, asked, first, second));
    matches!(verdict.outcome, Outcome::Match | Outcome::Mismatch).then_some(verdict)
}

fn compare(
    judge: &Judge,
    asked: &MirroredRequest,
    old: &ReceivedAnswer,
    new: &ReceivedAnswer,
) -> crate::judge::Verdict {
    match (&old.content, &new.content) {
        (Content::Kept(_), Content::Kept(_)) => {
            judge.compare(&asked.for_judge(), &old.for_judge(), &new.for_judge())
        }
        _ => judge.compare_digests(
            (&old.for_judge(), &old.content.digest()),
            (&new.for_judge(), &new.content.digest()),
        ),
    }
}

fn failed(failure: &Failure, error: Outcome) -> PairResult {
    PairResult::only(if failure.reason == Reason::Timeout { Outcome::Timeout } else { error })
}
