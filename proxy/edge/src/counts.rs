//! The counters of the log's lines.
//!
//! They are plain integers in arrays: counting a line looks up its route and increments some of them, and allocates
//! only for a new route.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::Instant;

use memchr::memchr;
use service_kit::metrics::{DURATION_BUCKETS, class, shape};
use strum::EnumCount;

use crate::cut::Cuts;
use crate::keys::Keys;
use crate::line::{Arm, Code, Line, OWN_ERRORS, ServedBy};
use crate::loss::Ends;
use crate::outages::{Attempt, Outages};

/// The most routes with counters of their own that no setting names. Lines of further routes count under [`OVERFLOW`].
pub(crate) const MAX_ROUTES: usize = 64;
/// The label `route` for the routes beyond [`MAX_ROUTES`].
pub(crate) const OVERFLOW: &str = "_overflow";
/// The most classes of a route. Further ones are not counted.
const MOST_CLASSES: usize = 100;
/// The most reasons to decline, and spellings, that are counted by name.
const MOST_NAMES: usize = 20;
/// The longest line in bytes. An ordinary line has about 200.
const MAX_LINE_BYTES: usize = 4096;

const BOUNDS: usize = DURATION_BUCKETS.len();
/// The bounds in whole microseconds, so that a line needs no floating point.
const BOUNDS_US: [u64; BOUNDS] = {
    let mut bounds = [0; BOUNDS];
    let mut i = 0;
    while i < BOUNDS {
        bounds[i] = (DURATION_BUCKETS[i] * 1e6 + 0.5) as u64;
        i += 1;
    }
    bounds
};

/// A histogram of durations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Durations {
    /// The counts of the buckets, not cumulative. The last bucket has no upper bound.
    pub(crate) buckets: [u64; BOUNDS + 1],
    pub(crate) sum_ms: u64,
}

impl Durations {
    fn observe(&mut self, duration_ms: u64) {
        let duration_us = duration_ms.saturating_mul(1000);
        let bucket = BOUNDS_US.iter().filter(|&&bound| duration_us > bound).count();
        self.buckets[bucket] += 1;
        self.sum_ms = self.sum_ms.saturating_add(duration_ms);
    }
}

/// The counters of one route, indexed by arm, then side, then code.
#[derive(Clone, Debug, Default)]
pub(crate) struct RouteCounts {
    pub(crate) name: Box<str>,
    /// Whether a setting names the route, so that its series exist before its first request.
    pub(crate) is_named: bool,
    pub(crate) requests: [[[u64; Code::COUNT]; ServedBy::COUNT]; Arm::COUNT],
    pub(crate) durations: [Durations; Arm::COUNT],
    pub(crate) response_bytes: [u64; Arm::COUNT],
    pub(crate) own_errors: [[u64; OWN_ERRORS.len()]; Arm::COUNT],
    pub(crate) retries: [u64; Arm::COUNT],
    pub(crate) no_live_upstreams: [u64; Arm::COUNT],
    /// Attempts at the assigned side that took too long.
    pub(crate) timeouts: [u64; Arm::COUNT],
    /// Answers with status 2xx and without a body.
    pub(crate) empty: [u64; Arm::COUNT],
    pub(crate) outages: [Outages; Arm::COUNT],
    /// Answers that the assigned side ended too soon.
    pub(crate) cut: [u64; Arm::COUNT],
    pub(crate) keys: Keys,
    pub(crate) classes: Classes,
    /// Requests that the new side declined, by reason.
    pub(crate) declines: Named,
    /// Requests of another method or spelling than the route's, which went to the old side.
    pub(crate) spellings: Named,
}

/// Counts by names that others choose.
#[derive(Clone, Debug, Default)]
pub(crate) struct Named(pub(crate) BTreeMap<Box<str>, u64>);

impl Named {
    fn count(&mut self, name: &str) {
        let is_new = !self.0.contains_key(name);
        let name = if is_new && self.0.len() >= MOST_NAMES { "others" } else { name };
        *self.0.entry(name.into()).or_default() += 1;
    }
}

impl RouteCounts {
    fn new(name: &str, is_named: bool) -> Self {
        RouteCounts { name: name.into(), is_named, ..RouteCounts::default() }
    }

    fn count(&mut self, line: &Line<'_>) {
        let arm = line.arm as usize;
        self.requests[arm][line.side as usize][Code::of(line.status) as usize] += 1;
        self.durations[arm].observe(line.duration_ms);
        self.response_bytes[arm] = self.response_bytes[arm].saturating_add(line.sent_bytes);
        self.retries[arm] += u64::from(line.tries.has_retry);
        self.no_live_upstreams[arm] += u64::from(line.tries.had_no_live);
        let attempt = line.attempt();
        self.timeouts[arm] += u64::from(line.has_timed_out && attempt == Attempt::Failed);
        let is_success = Code::of(line.status) == Code::Success;
        self.empty[arm] += u64::from(line.is_empty && is_success && line.is_own_answer());
        let is_failure = Code::of(line.status) == Code::ServerError;
        self.cut[arm] += u64::from(line.is_cut && line.is_own_answer() && !is_failure);
        self.keys.count(line);
        if matches!(line.side, ServedBy::New | ServedBy::Old) && line.arm != Arm::None {
            self.classes.count(line);
        }
        if line.side == ServedBy::Declined {
            self.declines.count(&String::from_utf8_lossy(line.declined));
        }
        if !line.spelling.is_empty() {
            let [method, path] = [line.method, line.spelling].map(String::from_utf8_lossy);
            self.spellings.count(&format!("{method} {path}"));
        }
        if matches!(line.arm, Arm::New | Arm::Old) {
            self.outages[arm].take(line.ended_ms, attempt);
        }
        if line.side == ServedBy::None {
            let error = OWN_ERRORS.iter().position(|&status| status == line.status);
            if let Some(error) = error {
                self.own_errors[arm][error] += 1;
            }
        }
    }
}

/// All counters of lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// All lines, including malformed ones.
    pub(crate) lines: u64,
    pub(crate) malformed: u64,
    /// When the last request ended, in milliseconds since 1970.
    pub(crate) last_line_ms: Option<u64>,
    pub(crate) routes: Vec<RouteCounts>,
    cuts: Cuts,
    pub(crate) ends: Ends,
}

impl Counts {
    /// Counters at 0, with series for the routes in `named`.
    pub(crate) fn new(named: &[String]) -> Self {
        let routes = named.iter().map(|name| RouteCounts::new(name, true)).collect();
        Counts { routes, ..Counts::default() }
    }

    /// Takes answers that were cut, and counts those whose lines are known by now.
    pub(crate) fn add_cut(&mut self, cuts: Vec<(u64, Vec<u8>)>, now: Instant) {
        for text in self.cuts.add(cuts, now) {
            self.count_kept(&text, true);
        }
    }

    /// Counts the whole lines in `bytes`, and returns how many bytes need not be read again. Leaves the bytes after the
    /// last newline for the next call, when the line may be complete. Drops the bytes of a line that is too long: the
    /// line counts as malformed once, and `is_in_long_line` is set until its end was read.
    pub(crate) fn take(&mut self, bytes: &[u8], is_in_long_line: &mut bool) -> usize {
        let mut rest = bytes;
        while let Some(end) = memchr(b'\n', rest) {
            if !std::mem::take(is_in_long_line) {
                self.count(&rest[..end]);
            }
            rest = &rest[end + 1..];
        }
        if *is_in_long_line {
            return bytes.len();
        }
        if rest.len() > MAX_LINE_BYTES {
            *is_in_long_line = true;
            self.lines += 1;
            self.count_malformed();
            return bytes.len();
        }
        bytes.len() - rest.len()
    }

    fn count(&mut self, line: &[u8]) {
        self.lines += 1;
        let Some(parsed) = Line::parse(line) else {
            return self.count_malformed();
        };
        self.last_line_ms = Some(parsed.ended_ms);
        self.ends.add(parsed.ended_ms);
        match self.cuts.keep(&parsed, line) {
            Some(before) => self.count_kept(&before, false),
            None => self.route(parsed.route).count(&parsed),
        }
    }

    /// Counts a line of an unknown time as one of the last line's.
    pub(crate) fn count_malformed(&mut self) {
        self.malformed += 1;
        self.ends.add(self.last_line_ms.unwrap_or_default());
    }

    fn count_kept(&mut self, line: &[u8], is_cut: bool) {
        if let Some(line) = Line::parse(line) {
            self.route(line.route).count(&Line { is_cut, ..line });
        }
    }

    fn route(&mut self, name: &[u8]) -> &mut RouteCounts {
        let known = self.routes.iter().position(|route| route.name.as_bytes() == name);
        let index = known.unwrap_or_else(|| self.add_route(name));
        &mut self.routes[index]
    }

    #[cold]
    fn add_route(&mut self, name: &[u8]) -> usize {
        let most = MAX_ROUTES + self.routes.iter().filter(|route| route.is_named).count();
        let name = match self.routes.len().cmp(&most) {
            Ordering::Less => std::str::from_utf8(name).unwrap_or(OVERFLOW),
            Ordering::Equal => OVERFLOW,
            Ordering::Greater => return most,
        };
        self.routes.push(RouteCounts::new(name, false));
        self.routes.len() - 1
    }
}

/// What a route's clients got, by class: the method, the path's template, the names of query parameters, whether there are
/// credentials, the status and the media type. The shadow counts what it compared by the same classes. The size is no part
/// of them: clients get answers compressed as they ask, and the shadow as it asks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Classes(Vec<Class>);

#[derive(Clone, Debug)]
struct Class {
    /// Method, path, names and media type.
    texts: [Box<[u8]>; 4],
    status: u16,
    count: u64,
}

impl Classes {
    /// Counts a side's answer, but no failure, and no 304, for which the shadow does not ask.
    pub(crate) fn count(&mut self, line: &Line<'_>) {
        let Line { method, path, names, status, media_type, .. } = *line;
        let code = Code::of(status);
        if !matches!(code, Code::Success | Code::Redirection | Code::ClientError)
            || status == 304
            || !line.tries.was_asked
        {
            return;
        }
        let texts = [method, path, names, media_type];
        let is_it = |it: &&mut Class| {
            it.status == status && it.texts.iter().zip(texts).all(|(one, other)| **one == *other)
        };
        if let Some(class) = self.0.iter_mut().find(is_it) {
            class.count += 1;
        } else if self.0.len() < MOST_CLASSES {
            self.0.push(Class { texts: texts.map(Into::into), status, count: 1 });
        }
    }

    /// The classes by name.
    pub(crate) fn all(&self) -> BTreeMap<String, u64> {
        let mut all = BTreeMap::new();
        for Class { texts, status, count } in &self.0 {
            let [method, path, names, media_type] =
                texts.each_ref().map(|it| String::from_utf8_lossy(it));
            // Parameters come in any order.
            *all.entry(class(&shape(&method, &path, &names), *status, &media_type)).or_default() +=
                count;
        }
        all
    }
}

#[cfg(test)]
mod tests;
