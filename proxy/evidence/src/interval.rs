//! The counts between two scrapes, and the blocks that tests bet on.

use route::Key;
use serde::{Deserialize, Serialize};

use crate::bets::{Block, Counts, Unit};
use crate::gates::Quantity;
use crate::keys::ODD;

/// The thresholds of the shadow, in the order of `Interval::slower`.
pub const SLOWER: [&str; 5] = ["p50", "p90", "p95", "p99", "twice_p99"];
/// The classes of `Arm::statuses`. Failures have a test of their own.
pub const CLASSES: [&str; 3] = ["2xx", "3xx", "4xx"];
/// The requests per second that a side needs for an outage of a second to show. If only one side has fewer, only the
/// other side's outages would show.
const SHOWS_OUTAGES: f64 = 5.0;

/// The counts of the requests assigned to one side, in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Arm {
    /// Requests assigned to the side.
    pub requests: f64,
    /// Requests that nginx did not send to the side, because it was paused after failures. They are not attempts.
    pub refused: f64,
    /// Requests that the new side declined, which are neither failures nor proofs.
    pub declined: f64,
    /// Failed attempts, even if the other side then answered.
    pub failures: f64,
    /// Failed attempts after which the other side answered without a failure.
    pub helped: f64,
    /// Requests whose answer took longer than the test allows.
    pub slow: f64,
    /// The side's own answers that are not failures, by class of status: 2xx, 3xx, 4xx.
    pub statuses: [f64; CLASSES.len()],
    /// The side's own answers with status 2xx and without a body.
    pub empty: f64,
    /// How often five attempts failed in a row.
    pub outages: f64,
    /// Seconds from the first of five failures in a row until an attempt succeeded.
    pub out_seconds: f64,
    /// If the split is by key: keys that came for the first time.
    pub keys: f64,
    /// Keys whose requests the other side had before.
    pub moved_keys: f64,
    /// Keys that failed for the first time, on either side.
    pub failed_keys: f64,
    /// Keys found to be odd for the first time, on either side, by event.
    pub odd_keys: [f64; ODD.len()],
    /// Failures of keys that fail on the old side too.
    pub known: f64,
}

impl Arm {
    fn of_attempts(self, events: f64) -> Counts {
        Counts { requests: self.requests - self.refused - self.declined, events }
    }

    fn of_requests(self, events: f64) -> Counts {
        Counts { requests: self.requests, events }
    }

    fn add(&mut self, other: Arm) {
        self.requests += other.requests;
        self.refused += other.refused;
        self.declined += other.declined;
        self.failures += other.failures;
        self.helped += other.helped;
        self.slow += other.slow;
        self.empty += other.empty;
        self.outages += other.outages;
        self.out_seconds += other.out_seconds;
        self.keys += other.keys;
        self.moved_keys += other.moved_keys;
        self.failed_keys += other.failed_keys;
        self.known += other.known;
        self.odd_keys.iter_mut().zip(other.odd_keys).for_each(|(sum, more)| *sum += more);
        self.statuses.iter_mut().zip(other.statuses).for_each(|(sum, more)| *sum += more);
    }

    /// Failures that are not known to be the key's.
    pub(crate) fn unknown(self) -> f64 {
        self.failures - self.known
    }

    /// The requests with an event of [`ODD`].
    pub(crate) fn had(self, event: usize) -> Counts {
        match event.checked_sub(1) {
            None => self.of_attempts(self.unknown()),
            Some(class) => Counts {
                requests: self.statuses.iter().sum(),
                events: self.statuses[1 + class], // behind 2xx
            },
        }
    }
}

/// Pairs in which only one side was bad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alone {
    /// Pairs in which only the new side was bad.
    pub new: f64,
    /// Pairs in which only the old side was bad.
    pub old: f64,
}

fn is_nothing<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The counts between two scrapes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Interval {
    /// When the interval ended, in seconds of any clock.
    pub end: f64,
    /// The length of the interval. Scrapes of several proxies at once are several intervals.
    pub seconds: f64,
    /// The new side's share in percent.
    pub share: f64,
    /// Requests assigned to the new side.
    #[serde(skip_serializing_if = "is_nothing")]
    pub new: Arm,
    /// Requests assigned to the old side.
    #[serde(skip_serializing_if = "is_nothing")]
    pub old: Arm,
    /// Requests that the shadow sent to both sides.
    #[serde(skip_serializing_if = "is_nothing")]
    pub pairs: f64,
    /// Pairs in which only one side failed.
    #[serde(skip_serializing_if = "is_nothing")]
    pub failed: Alone,
    /// Pairs in which only one side was slower than each threshold.
    #[serde(skip_serializing_if = "is_nothing")]
    pub slower: [Alone; SLOWER.len()],
    /// The old side's answers to the shadow, by class of status: those of `CLASSES`, and 5xx.
    #[serde(skip_serializing_if = "is_nothing")]
    pub shadow_statuses: [f64; CLASSES.len() + 1],
    /// Judged pairs of both sides; the events are those that differ.
    #[serde(skip_serializing_if = "is_nothing")]
    pub compared: Counts,
    /// Judged pairs of the old side's own answers; the events are those that differ.
    #[serde(skip_serializing_if = "is_nothing")]
    pub noise: Counts,
    /// The new side's own counters.
    #[serde(skip_serializing_if = "is_nothing")]
    pub own_new: Counts,
    /// The old side's own counters.
    #[serde(skip_serializing_if = "is_nothing")]
    pub own_old: Counts,
}

impl Interval {
    pub(crate) fn add(&mut self, other: &Interval) {
        // Intervals of the shadow's scrapes do not count as time of the sides.
        if other.new.requests + other.old.requests > 0.0 {
            self.seconds += other.seconds;
        }
        self.share = other.share;
        self.new.add(other.new);
        self.old.add(other.old);
        self.pairs += other.pairs;
        let alone = self.slower.iter_mut().zip(other.slower);
        for (sum, more) in alone.chain([(&mut self.failed, other.failed)]) {
            sum.new += more.new;
            sum.old += more.old;
        }
        let statuses = self.shadow_statuses.iter_mut().zip(other.shadow_statuses);
        statuses.for_each(|(sum, more)| *sum += more);
        self.compared.add(other.compared);
        self.noise.add(other.noise);
        self.own_new.add(other.own_new);
        self.own_old.add(other.own_old);
    }

    /// The blocks of a test, one for each of its questions: each class of status, each threshold, or just one.
    pub(crate) fn blocks(&self, counted: Quantity, assigned: Assignment) -> Vec<Block> {
        let events = |new, old| Block::new(Unit::Events, new, old);
        let of_pairs = |alone: Alone| {
            let of = |events| Counts { requests: self.pairs, events };
            events(of(alone.new), of(alone.old))
        };
        let Interval { new, old, .. } = self;
        match counted {
            Quantity::Failures => {
                let attempted =
                    1.0 - (new.refused + old.refused) / (new.requests + old.requests).max(1.0);
                let of = |(new, old)| Block { attempted, ..events(new, old) };
                let (tried, failed) =
                    (new.of_attempts(new.failures), old.of_attempts(old.failures));
                match assigned {
                    Assignment::ByRequest => vec![of((tried, failed))],
                    Assignment::ByKey => {
                        vec![of((new.of_attempts(new.helped), failed)), of(self.of_keys())]
                    }
                }
            }
            Quantity::Slow if assigned == Assignment::ByKey => {
                vec![events(Counts::default(), Counts::default())]
            }
            Quantity::Slow => vec![events(new.of_requests(new.slow), old.of_requests(old.slow))],
            Quantity::Statuses => {
                let of = |class: usize| {
                    let [new, old] = [new, old].map(|arm| Counts {
                        requests: arm.statuses.iter().sum(),
                        events: arm.statuses[class],
                    });
                    events(new, old)
                };
                (0..CLASSES.len()).map(of).collect()
            }
            Quantity::Empty => {
                let of = |arm: &Arm| Counts { requests: arm.statuses[0], events: arm.empty };
                vec![events(of(new), of(old))]
            }
            Quantity::Outages => {
                let shows = |arm: &Arm| arm.requests >= SHOWS_OUTAGES * self.seconds;
                let seconds = if shows(new) && shows(old) { self.seconds } else { 0.0 };
                // An outage is known only at its fifth failure, so a block may get time from before it.
                let of =
                    |arm: &Arm| Counts { requests: seconds, events: arm.out_seconds.min(seconds) };
                vec![Block::new(Unit::Time, of(new), of(old))]
            }
            Quantity::PairFailures => vec![of_pairs(self.failed)],
            Quantity::PairLatency => self.slower.map(of_pairs).to_vec(),
            // The shadow chooses at random which kind of pair a request becomes, so this needs no split by request.
            Quantity::Differences => vec![events(self.compared, self.noise)],
            Quantity::Own => vec![events(self.own_new, self.own_old)],
            // No bet, since they are not about the new side.
            Quantity::ShadowAnswers | Quantity::SampleRatio => Vec::new(),
        }
    }

    /// The keys that failed for the first time, of the requests that became attempts. A key is the new side's with the
    /// chance of the share, whatever part of the requests is its own, so the share divides them ([`crate::keys`]).
    fn of_keys(&self) -> (Counts, Counts) {
        let all = self.new.requests + self.old.requests;
        let of = |arm: &Arm, share: f64| {
            let tried = 1.0 - arm.refused / arm.requests.max(1.0);
            Counts { requests: share * all * tried, events: arm.failed_keys }
        };
        let share = self.share / 100.0;
        (of(&self.new, share), of(&self.old, 1.0 - share))
    }

    /// The block of the absolute limit. `None` if the old side is beyond the limit too, or if the split is by key and
    /// the new side has fewer requests than the old side: among few keys may be one that always fails, on either side,
    /// so odd keys are compared ([`crate::keys`]). Failures of keys that the old side fails too do not count.
    pub(crate) fn above(&self, limit: f64, assigned: Assignment) -> Option<Block> {
        let Interval { new, old, .. } = self;
        let is_excused = old.of_attempts(old.failures).rate() > limit
            || assigned == Assignment::ByKey && new.requests < old.requests;
        let new = new.of_attempts(new.unknown());
        (!is_excused).then_some(Block::new(Unit::Limit, new, Counts::default()))
    }

    /// All requests to the sides, from clients and from the shadow. If the split is by key, only those of clients,
    /// since the shadow's may lack the key, and without failures that are known to be the key's.
    pub(crate) fn asked(&self, assigned: Assignment) -> Block {
        let mut block = self.blocks(Quantity::Failures, assigned)[0];
        if assigned == Assignment::ByKey {
            block.new.events = self.new.unknown();
            block.old.events = self.old.unknown();
            return block;
        }
        block.new.add(Counts { requests: self.pairs, events: self.failed.new });
        block.old.add(Counts { requests: self.pairs, events: self.failed.old });
        block
    }
}

/// How requests are assigned to sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Assignment {
    /// Each request by itself, so that the two groups of requests can be compared.
    #[default]
    ByRequest,
    /// By a key that recurs. A key that always fails would count as its side's fault, so a failure of the new side
    /// counts if the old side then answered, or else once for each key, and times count only in pairs.
    ByKey,
}

impl Assignment {
    /// What the split assigns to sides.
    pub(crate) fn unit(self) -> &'static str {
        if self == Assignment::ByKey { "new keys" } else { "requests" }
    }
}

impl From<&Key> for Assignment {
    fn from(key: &Key) -> Self {
        if *key == Key::Request { Assignment::ByRequest } else { Assignment::ByKey }
    }
}

#[cfg(test)]
mod tests;
