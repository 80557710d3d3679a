//! Whether a session went the same way on both sides.

use super::half::Answer;
use super::play::{Played, Seen};
use crate::client::{Failure, Reason};
use crate::verdict::Outcome;

/// What may differ, in the order in which it is looked for.
pub(crate) const KINDS: [&str; 6] = ["status", "header", "lines", "content", "end", "receivers"];

pub(super) fn compare(new: &Played, old: &Played) -> (Outcome, Option<&'static str>) {
    let failed = |failure: &Failure, error| match failure.reason {
        Reason::Timeout => Outcome::Timeout,
        _ => error,
    };
    let (new, old) = match (&new.outcome, &old.outcome) {
        (Err(failure), _) => return (failed(failure, Outcome::NewError), None),
        (_, Err(failure)) => return (failed(failure, Outcome::OldError), None),
        (Ok(new), Ok(old)) => (new, old),
    };
    if new.is_out_of_order || old.is_out_of_order {
        return (Outcome::Skipped, None);
    }
    match differing(new, old) {
        None => (Outcome::Match, None),
        kind => (Outcome::Mismatch, kind),
    }
}

/// Whether two halves agree in one respect.
type IsSame = fn(&Answer, &Answer) -> bool;

fn differing(new: &Seen, old: &Seen) -> Option<&'static str> {
    if new.receivers.len() != old.receivers.len() || new.sender.is_some() != old.sender.is_some() {
        return Some("receivers");
    }
    let halves = |seen: &Seen| -> Vec<Answer> {
        seen.sender.iter().chain(&seen.receivers).cloned().collect()
    };
    let (new, old) = (halves(new), halves(old));
    let differs =
        |part: fn(&Answer, &Answer) -> bool| new.iter().zip(&old).any(|(new, old)| !part(new, old));
    let parts: [(&str, IsSame); 5] = [
        ("status", |a, b| a.status == b.status),
        ("header", |a, b| a.headers == b.headers),
        ("lines", |a, b| a.lines == b.lines),
        ("content", |a, b| a.sha256 == b.sha256),
        ("end", |a, b| a.end == b.end),
    ];
    parts.into_iter().find(|(_, part)| differs(*part)).map(|(kind, _)| kind)
}
