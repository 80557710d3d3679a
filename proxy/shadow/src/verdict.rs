//! Whether two answers are the same.
//!
//! The rules, first one that holds:
//!
//! 1. The Rust service gave no answer ([`Reason`]): `timeout` where it was too slow, else
//!    `new_error`. Then the same of the legacy app: `timeout` or `old_error`. Where both
//!    failed, the Rust service's failure names the result, for it is the one being tried.
//! 2. Both refuse the request as too large, 414 or 431: a match; the bodies are each server's own.
//! 3. Other statuses, a 500 of one side included: mismatch, `status`.
//! 4. 200 to GET, so both bodies are pictures: mismatch as `undecodable` (either), `text` (other
//!    than asked, or than the other's), `level`, `size`. The bytes may differ.
//! 5. Any other answer: mismatch, `body`, where the bodies differ.
//! 6. A match.

use http::{Method, StatusCode};
use serde::Serialize;
use service_kit::label_value;

use crate::asked::Asked;
use crate::picture::Seen;
use crate::side::{Failure, Reason, Reply};

/// What a comparison came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Both say the same.
    Match,
    /// Both answered, and not the same.
    Mismatch,
    /// The Rust service gave no answer.
    NewError,
    /// The legacy app gave no answer.
    OldError,
    /// One of them took too long.
    Timeout,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Outcome; 5] =
        [Outcome::Match, Outcome::Mismatch, Outcome::NewError, Outcome::OldError, Outcome::Timeout];

    /// The label's value.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Match => "match",
            Outcome::Mismatch => "mismatch",
            Outcome::NewError => "new_error",
            Outcome::OldError => "old_error",
            Outcome::Timeout => "timeout",
        }
    }
}

/// What differs, of several the first in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The status.
    Status,
    /// The body of an answer that is no picture.
    Body,
    /// A picture cannot be read.
    Undecodable,
    /// A picture shows another text than the one asked, or than the other picture.
    Text,
    /// The error correction level.
    Level,
    /// Width or height.
    Size,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 6] =
        [Kind::Status, Kind::Body, Kind::Undecodable, Kind::Text, Kind::Level, Kind::Size];

    /// The label's value.
    pub fn as_str(self) -> &'static str {
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

/// A verdict: the outcome, and of a mismatch what differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What it came to.
    pub outcome: Outcome,
    /// What differs, of a mismatch.
    pub kind: Option<Kind>,
}

/// Whether a body is a picture: the contract has one in every 200 to GET.
pub fn is_picture(method: &Method, status: StatusCode) -> bool {
    *method == Method::GET && status == StatusCode::OK
}

/// The verdict on what both answered.
pub fn judge(asked: &Asked, new: &Reply<Seen>, old: &Reply<Seen>) -> Verdict {
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
    // A query that the contract refuses asks no text, so no picture can show it.
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
