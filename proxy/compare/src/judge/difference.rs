//! The differences between two answers, and the verdict of a judge.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use strum::{AsRefStr, Display};

/// The most differences that are listed; all are counted.
const MAX_LISTED: usize = 50;
/// The most listed differences of one field, so that a long array does not hide the others.
const MAX_OF_FIELD: usize = 5;
/// The most fields that are counted by name. The keys of an object may be ids, so their number is unlimited.
const MAX_FIELDS: usize = 50;

/// The kind of a difference. Every judge has a limited set of kinds: [`Judge::kinds`](crate::judge::Judge::kinds).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, AsRefStr, Display)]
#[strum(serialize_all = "snake_case")]
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
    /// A body that is not in the judge's format.
    Undecodable,
    /// The pixels of a picture.
    Pixels,
    /// A JSON value.
    Json,
    /// A kind that the user's program declared.
    #[strum(transparent)]
    Declared(Arc<str>),
}

impl Kind {
    /// The name, for metrics and reports.
    pub fn as_str(&self) -> &str {
        self.as_ref()
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One thing in which two answers differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The kind.
    pub kind: Kind,
    /// The place: a header's name, a JSON Pointer, `offset 17` or `line 3`; empty for the whole answer. It may contain
    /// keys of JSON objects, but quotes nothing else of an answer.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// A description for people. It may quote both answers, so it must only be shown where texts may be kept.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// The differences of two answers, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differences {
    listed: Vec<Difference>,
    count: usize,
    fields: BTreeMap<String, usize>,
}

impl Differences {
    /// The first differences in the order of the answers: at most 50, and at most five of each field.
    pub fn listed(&self) -> &[Difference] {
        &self.listed
    }

    /// The number of differences, listed or not.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The kind of the first difference.
    pub fn kind(&self) -> Kind {
        // There is always at least one.
        self.listed.first().map_or(Kind::Body, |first| first.kind.clone())
    }

    /// How often each field differs. A field is a kind, followed by a header's name or a JSON Pointer with `*` for the
    /// index of an item. Fields after the first 50 are counted together as `others`.
    pub fn fields(&self) -> &BTreeMap<String, usize> {
        &self.fields
    }
}

/// Collects differences.
#[derive(Debug, Default)]
pub(crate) struct DifferenceList(Option<Differences>);

impl DifferenceList {
    /// Adds a difference. `field` is a header's name or a JSON Pointer; empty if the kind alone is the field. `shown`
    /// returns place and detail; it is not called for differences that are only counted.
    pub(crate) fn add(
        &mut self,
        kind: &Kind,
        field: &str,
        shown: impl FnOnce() -> (String, String),
    ) {
        let Differences { listed, count, fields } = self.0.get_or_insert_with(|| Differences {
            listed: Vec::new(),
            count: 0,
            fields: BTreeMap::new(),
        });
        *count += 1;
        let mut field = format!("{kind} {field}");
        field.truncate(field.trim_end().len());
        if fields.len() >= MAX_FIELDS && !fields.contains_key(&field) {
            "others".clone_into(&mut field);
        }
        let of_field = fields.entry(field).or_default();
        *of_field += 1;
        if listed.len() < MAX_LISTED && *of_field <= MAX_OF_FIELD {
            let (place, detail) = shown();
            listed.push(Difference { kind: kind.clone(), place, detail });
        }
    }

    /// Adds a difference of the whole answer.
    pub(crate) fn whole(&mut self, kind: Kind, detail: impl Into<String>) {
        self.add(&kind, "", || (String::new(), detail.into()));
    }

    /// Both bodies in the judge's format. If one cannot be read, adds that as a difference and returns `None`.
    pub(crate) fn both<T, E: fmt::Display>(
        &mut self,
        old: Result<T, E>,
        new: Result<T, E>,
    ) -> Option<(T, T)> {
        let (side, why) = match (old, new) {
            (Ok(old), Ok(new)) => return Some((old, new)),
            (Err(why), _) => ("old", why),
            (_, Err(why)) => ("new", why),
        };
        self.whole(Kind::Undecodable, format!("{side}: {why}"));
        None
    }

    /// Adds the listed differences of another judge.
    pub(crate) fn extend(&mut self, others: Differences) {
        for Difference { kind, place, detail } in others.listed {
            self.add(&kind, "", || (place, detail));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

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
        found.0.map_or(Verdict::Same, Verdict::Different)
    }
}

/// The longest part of an answer in a detail, in characters.
const MAX_CHARS: usize = 60;

/// `text` on one line, cut after 60 characters.
pub(crate) fn shortened(text: &str) -> String {
    cut(text, MAX_CHARS)
}

/// `text` with control characters escaped, so that it stays on one line, cut after `max_chars`.
pub(crate) fn cut(text: &str, max_chars: usize) -> String {
    let mut chars = text.chars();
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    let start: String = chars.by_ref().take(max_chars).map(shown).collect();
    if chars.next().is_some() { start + "…" } else { start }
}
