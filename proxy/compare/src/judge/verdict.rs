//! What a judge says about two answers.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::judge::difference::{Differences, Found};

/// What differs. Every judge has a bounded set of kinds: [`Judge::kinds`](crate::judge::Judge::kinds).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The status.
    Status,
    /// One of the compared headers.
    Header,
    /// The bytes of the body.
    Body,
    /// The text of the body, or the text that a QR symbol shows.
    Text,
    /// The error correction level of a QR symbol.
    Level,
    /// The width or height of a picture.
    Size,
    /// A body is not in the format that the judge reads.
    Undecodable,
    /// The pixels of a picture.
    Pixels,
    /// A JSON value.
    Json,
    /// A kind that the user's program declared.
    Declared(Arc<str>),
}

impl Kind {
    /// The name, for metrics and reports.
    pub fn as_str(&self) -> &str {
        match self {
            Kind::Status => "status",
            Kind::Header => "header",
            Kind::Body => "body",
            Kind::Text => "text",
            Kind::Level => "level",
            Kind::Size => "size",
            Kind::Undecodable => "undecodable",
            Kind::Pixels => "pixels",
            Kind::Json => "json",
            Kind::Declared(name) => name,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The outcome of one comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The answers are the same.
    Same,
    /// The answers differ.
    Different(Differences),
    /// The judge itself failed: this pair was not compared, and must never count as a match.
    Unjudged {
        /// For people. It quotes neither answer.
        reason: String,
    },
    /// The user's program chose not to judge this pair.
    Skipped,
}

impl Verdict {
    pub(crate) fn different(kind: Kind, detail: impl Into<String>) -> Self {
        let mut found = Found::default();
        found.whole(kind, detail);
        Verdict::of(found)
    }

    pub(crate) fn of(found: Found) -> Self {
        found.into_differences().map_or(Verdict::Same, Verdict::Different)
    }
}
