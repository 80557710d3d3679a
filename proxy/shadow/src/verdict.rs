//! Decides whether two answers are the same. The first rule that applies gives the result:
//!
//! 1. A side gave no answer ([`Reason`]): `timeout` if it was too slow, else `new_error` or
//!    `old_error`. If both failed, the new side's failure is the result: it is the side on trial.
//! 2. Both sides refuse the request as too large (414 or 431): `match`. The contract leaves these
//!    bodies to the server.
//! 3. The statuses differ, a 500 of one side included: `mismatch`, kind `status`.
//! 4. Both answer GET with 200, so both bodies are pictures. `mismatch` if either picture is
//!    `undecodable`, if either shows another `text` than the one asked, or if their `level` or `size`
//!    differ. Their bytes may differ.
//! 5. The bodies of any other answer differ: `mismatch`, kind `body`.
//! 6. Otherwise: `match`.

use http::{Method, StatusCode};
use serde::Serialize;
use service_kit::label_value;

use crate::asked::Asked;
use crate::client::{Failure, Reason, Reply};
use crate::picture::Seen;

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
}

impl Outcome {
    pub(crate) const ALL: [Outcome; 5] =
        [Outcome::Match, Outcome::Mismatch, Outcome::NewError, Outcome::OldError, Outcome::Timeout];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Outcome::Match => "match",
            Outcome::Mismatch => "mismatch",
            Outcome::NewError => "new_error",
            Outcome::OldError => "old_error",
            Outcome::Timeout => "timeout",
        }
    }
}

/// What differs in a mismatch. If several things differ, the first in rule order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Status,
    /// The body of an answer that is not a picture.
    Body,
    /// A picture could not be decoded.
    Undecodable,
    /// A picture shows another text than the one asked.
    Text,
    /// The error correction level.
    Level,
    /// Width or height.
    Size,
}

impl Kind {
    pub(crate) const ALL: [Kind; 6] =
        [Kind::Status, Kind::Body, Kind::Undecodable, Kind::Text, Kind::Level, Kind::Size];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Kind::Status => "status",
            Kind::Body => "body",
            Kind::Undecodable => "undecodable",
            Kind::Text => "text",
            Kind::Level => "level",
            Kind::Size => "size",
        }
    }
}

label_value!(Outcome, Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) outcome: Outcome,
    /// Set for a mismatch only.
    pub(crate) kind: Option<Kind>,
}

/// Whether the contract has a picture in this answer.
pub(crate) fn is_picture(method: &Method, status: StatusCode) -> bool {
    *method == Method::GET && status == StatusCode::OK
}

pub(crate) fn judge(asked: &Asked, new: &Reply<Seen>, old: &Reply<Seen>) -> Verdict {
    let (new, old) = match (&new.outcome, &old.outcome) {
        (Ok(new), Ok(old)) => (new, old),
        (Err(failure), _) => return failed(failure, Outcome::NewError),
        (_, Err(failure)) => return failed(failure, Outcome::OldError),
    };
    let kind = difference(asked, new, old);
    let outcome = if kind.is_some() { Outcome::Mismatch } else { Outcome::Match };
    Verdict { outcome, kind }
}

fn failed(failure: &Failure, error: Outcome) -> Verdict {
    let outcome = if failure.reason == Reason::Timeout { Outcome::Timeout } else { error };
    Verdict { outcome, kind: None }
}

fn difference(asked: &Asked, new: &Seen, old: &Seen) -> Option<Kind> {
    let too_large = |seen: &Seen| {
        matches!(
            seen.status,
            StatusCode::URI_TOO_LONG | StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
        )
    };
    if too_large(new) && too_large(old) {
        return None;
    }
    if new.status != old.status {
        return Some(Kind::Status);
    }
    let (Some(one), Some(other)) = (&new.picture, &old.picture) else {
        return (new.body != old.body).then_some(Kind::Body);
    };
    let (Ok(symbol), Ok(other_symbol)) = (&one.symbol, &other.symbol) else {
        return Some(Kind::Undecodable);
    };
    // If the contract refuses the query, there is no text that a picture could show.
    let text = asked.text();
    if symbol.bytes != other_symbol.bytes
        || text.as_deref().map(str::as_bytes) != Some(&symbol.bytes)
    {
        Some(Kind::Text)
    } else if symbol.level != other_symbol.level {
        Some(Kind::Level)
    } else {
        (one.size_px != other.size_px).then_some(Kind::Size)
    }
}
