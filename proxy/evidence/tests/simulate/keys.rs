//! Simulates the keys of a split by key, as `edge` counts them.

use fastrand::Rng;

use evidence::interval::Arm;

use crate::ramp::BLOCK;
use crate::upstream::poisson;

/// The number of keys. Their popularity follows Zipf's law.
const KEYS: u32 = 10_000;
/// How long the edge saw the old side's keys before the ramp, in seconds.
const WATCHED: f64 = 3600.0;
/// In how many slots most of a key's requests must fail to make it odd. A block is a slot.
const SLOTS: u32 = 3;

struct Key {
    /// Its place in the split.
    place: f64,
    popularity: f64,
    /// Whether it always fails on the new side, and on the old one.
    is_bad: [bool; 2],
    has_failed: bool,
    /// The side on which it was found to be odd.
    odd_on_new: Option<bool>,
    /// The last slots in a row in which most of its requests failed, and when they ended.
    slots: u32,
    ended: f64,
}

pub(crate) struct Keys {
    all: Vec<Key>,
    /// The popularity of each key and of those before it.
    sums: Vec<f64>,
    bad: Vec<usize>,
    share: f64,
}

impl Keys {
    /// `bad` has the shares of keys that fail on the new side and on the old one. Those that came before are known.
    pub(crate) fn new(bad: [f64; 2], rate: f64, rng: &mut Rng) -> Self {
        let sum: f64 = (1..=KEYS).map(|rank| 1.0 / f64::from(rank)).sum();
        let key = |rank| {
            let (place, chance) = (rng.f64(), rng.f64());
            let popularity = 1.0 / f64::from(rank) / sum;
            let is_bad = bad.map(|share| chance < share);
            let has_failed = is_bad[1] && rate * popularity * WATCHED >= f64::from(SLOTS);
            let odd_on_new = has_failed.then_some(false);
            Key { place, popularity, is_bad, has_failed, odd_on_new, slots: 0, ended: 0.0 }
        };
        let all: Vec<Key> = (1..=KEYS).map(key).collect();
        let add = |sum: &mut f64, key: &Key| {
            *sum += key.popularity;
            Some(*sum)
        };
        let sums = all.iter().scan(0.0, add).collect();
        let bad = (0..all.len()).filter(|at| all[*at].is_bad.contains(&true)).collect();
        Keys { all, sums, bad, share: 0.0 }
    }

    pub(crate) fn move_to(&mut self, share: f64) {
        for key in self.all.iter_mut().filter(|key| (self.share..share).contains(&key.place)) {
            key.slots = 0;
        }
        self.share = share;
    }

    pub(crate) fn weight_below(&self, share: f64) -> f64 {
        let below = self.all.iter().filter(|key| key.place < share);
        below.map(|key| key.popularity).sum()
    }

    /// The share of the requests whose key fails on a side.
    pub(crate) fn bad(&self, is_new: bool) -> f64 {
        let bad = self.all.iter().filter(|key| key.is_bad[usize::from(!is_new)]);
        bad.map(|key| key.popularity).sum()
    }

    /// Adds what the keys of a side got in the block that ends at `now`. Its failures so far are of any keys.
    pub(crate) fn play(&mut self, now: f64, rate: f64, is_new: bool, arm: &mut Arm, rng: &mut Rng) {
        let share = self.share;
        let is_here = |key: &Key| (key.place < share) == is_new;
        let mut failed: Vec<(usize, f64)> = Vec::new();
        for _ in 0..arm.failures as usize {
            let at = loop {
                let chance = rng.f64();
                let at = self.sums.partition_point(|sum| *sum < chance).min(self.all.len() - 1);
                if is_here(&self.all[at]) {
                    break at;
                }
            };
            match failed.iter_mut().find(|(other, _)| *other == at) {
                Some((_, count)) => *count += 1.0,
                None => failed.push((at, 1.0)),
            }
        }
        for &at in &self.bad {
            let key = &self.all[at];
            if is_here(key) && key.is_bad[usize::from(!is_new)] {
                let count = poisson(rng, rate * BLOCK * key.popularity).min(arm.statuses[0]);
                arm.failures += count;
                arm.statuses[0] -= count;
                if count > 0.0 {
                    failed.push((at, count));
                }
            }
        }
        for (at, count) in failed {
            self.all[at].fail(now, rate, is_new, count, arm);
        }
    }
}

impl Key {
    fn fail(&mut self, now: f64, rate: f64, is_new: bool, count: f64, arm: &mut Arm) {
        arm.failed_keys += f64::from(u8::from(!std::mem::replace(&mut self.has_failed, true)));
        if self.odd_on_new == Some(false) {
            arm.known += count;
        }
        // The slots without a failure between two are those in which it did not come, or got answers.
        let requests = rate * self.popularity * BLOCK;
        let between = (now - self.ended - BLOCK) / BLOCK;
        let has_come = between * requests > 1.0;
        self.slots = if has_come { 1 } else { self.slots + 1 };
        if 2.0 * count < requests {
            self.slots = 0;
        }
        self.ended = now;
        if self.odd_on_new.is_none() && self.slots >= SLOTS {
            self.odd_on_new = Some(is_new);
            arm.odd_keys[0] += 1.0;
        }
    }
}
