//! Pairs of answers as evidence: counts pairs in which only one side failed, or only one side was slow.
//!
//! Both sides get the same request at the same time in random order. If they are equally good, the new side is the
//! worse one in half of these pairs. `ramp` tests that.
//!
//! Slow means slower than a threshold; the new side may exceed it by the route's margin. The thresholds are the old
//! side's p50, p90, p95, p99 and twice its p99. They come from earlier pairs only, so a pair never moves its own
//! threshold.

use std::collections::VecDeque;
use std::time::Duration;

use route::Slower;
use strum::{IntoStaticStr, VariantArray};

use crate::client::{ReceivedAnswer, Reply};
use crate::result::Side;

/// How many of the old side's last answers the thresholds are computed from.
const REMEMBERED: usize = 1000;
/// How many pairs arrive before the thresholds are computed again; at first, half of the pairs so far. No pair counts
/// as slower before thresholds exist, which `ramp` would take for a proof, so the first ones are computed after one
/// pair.
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

    /// The events that happened to only one side of the pair, each with that side. Then records the old side's time.
    pub(crate) fn discordant(&mut self, new: Timing, old: Timing) -> Vec<(Event, Side)> {
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

/// One side's result in a pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// No answer, or a status of 500 and more.
    pub(crate) has_failed: bool,
    pub(crate) elapsed: Duration,
}

impl Timing {
    pub(crate) fn of(reply: &Reply) -> Self {
        let is_error =
            |answer: &ReceivedAnswer| answer.status.is_server_error() && !answer.has_declined();
        Timing { has_failed: reply.outcome.as_ref().map_or(true, is_error), elapsed: reply.elapsed }
    }
}

#[cfg(test)]
mod tests;
