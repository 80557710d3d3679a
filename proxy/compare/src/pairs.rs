//! Pairs of answers as evidence: which side failed, or was slow, where the other was not.
//!
//! If the sides are equal, the new one is not the worse one of such a pair more often than the other, since both get the
//! same request at the same time in random order. `ramp` tests that.
//!
//! Slow means longer than a threshold, for the new side by more than the route's margin. The thresholds are the old
//! side's p50, p90, p95, p99 and twice its p99. They come from earlier pairs alone, so what a pair measures never moves
//! its own threshold.

use std::collections::VecDeque;
use std::time::Duration;

use route::Slower;
use strum::{IntoStaticStr, VariantArray};

use crate::client::{Answer, Reply};
use crate::side::Side;

/// Answers of the old side that thresholds are taken from.
const REMEMBERED: usize = 1000;
/// Pairs between two looks at them; at first, as many as half of all so far. Before the first look no pair counts as
/// slower, which `ramp` would take for a proof.
const RENEWED_EACH: usize = 100;

/// What can happen to one side of a pair alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub(crate) enum Event {
    /// No answer, or a status of 500 and more.
    Failure,
    /// Slower than the old side's median.
    P50,
    /// Slower than nine tenths of the old side's answers.
    P90,
    /// Slower than 95 of 100.
    P95,
    /// Slower than 99 of 100.
    P99,
    /// Slower than twice that.
    TwiceP99,
}

/// The thresholds of a route.
#[derive(Debug, Default)]
pub(crate) struct Thresholds {
    margin: Slower,
    recent: VecDeque<Duration>,
    since_renewed: usize,
    current: Option<[Duration; 5]>,
}

impl Thresholds {
    pub(crate) fn new(margin: Slower) -> Self {
        Thresholds { margin, ..Thresholds::default() }
    }

    /// The events that only one side of the pair had, each with that side; then remembers the old side's
    /// time.
    pub(crate) fn discordant(&mut self, new: Took, old: Took) -> Vec<(Event, Side)> {
        let mut found = Vec::new();
        let mut check = |event, new: bool, old: bool| match (new, old) {
            (true, false) => found.push((event, Side::New)),
            (false, true) => found.push((event, Side::Old)),
            _ => {}
        };
        check(Event::Failure, new.has_failed, old.has_failed);
        if let Some(thresholds) = &self.current {
            for (event, threshold) in Event::VARIANTS[1..].iter().zip(thresholds) {
                let is_new_slow = new.elapsed > self.margin.allows(*threshold);
                check(*event, is_new_slow, old.elapsed > *threshold);
            }
        }
        self.remember(old.elapsed);
        found
    }

    fn remember(&mut self, old: Duration) {
        if self.recent.len() == REMEMBERED {
            self.recent.pop_front();
        }
        self.recent.push_back(old);
        self.since_renewed += 1;
        if self.since_renewed < RENEWED_EACH.min(self.recent.len().div_ceil(2)) {
            return;
        }
        self.since_renewed = 0;
        let mut sorted: Vec<Duration> = self.recent.iter().copied().collect();
        sorted.sort_unstable();
        let at = |hundredths: usize| sorted[(sorted.len() - 1) * hundredths / 100];
        self.current = Some([at(50), at(90), at(95), at(99), 2 * at(99)]);
    }
}

/// What a side made of its half of a pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Took {
    /// No answer, or a status of 500 and more.
    pub(crate) has_failed: bool,
    pub(crate) elapsed: Duration,
}

impl Took {
    pub(crate) fn of(reply: &Reply) -> Self {
        let is_error = |answer: &Answer| answer.status.is_server_error();
        Took { has_failed: reply.outcome.as_ref().map_or(true, is_error), elapsed: reply.elapsed }
    }
}

#[cfg(test)]
mod tests;
