//! `carve plan`: ramps on made-up counts, to see how often the standard tests roll back sides that are
//! equal, and how soon they catch those that are not.
//!
//! 100 requests a second; ten pairs a second for the shadow; judged at each scrape, every 5 s. Response
//! times are log-normal, with 1 % of slow ones. A ramp has four steps of ten minutes, at 1, 5, 25 and 50 %.

use std::f64::consts::TAU;
use std::fmt;

use fastrand::Rng;

use crate::bets::Counts;
use crate::gates::Gates;
use crate::trial::{Alone, Arm, Assigned, Interval, Trial};

/// Requests and pairs between two scrapes.
const REQUESTS: u32 = 500;
const PAIRS: u32 = 50;
const INTERVALS_OF_STEP: usize = 120;
const SHARES: [f64; 4] = [0.01, 0.05, 0.25, 0.5];
/// Old answers that thresholds are taken from, and how often.
const REMEMBERED: usize = 1000;
const RENEWED_EACH: usize = 500;
/// Times in seconds: the median, the spread (of the logarithm), and what 1 % take longer.
const MEDIAN: f64 = 0.02;
const SLOW: (f64, f64) = (0.01, 0.4);
/// An incident of a minute, in which 50 times as many requests fail, and half are slow.
const INCIDENT: (usize, f64, f64) = (12, 50.0, 0.5);
/// Of the pairs, those that compare the old side with itself, where a route measures that.
const NOISE: f64 = 0.2;
/// Keys that come again, with Zipf's popularities, and how many of them always fail.
const KEYS: u32 = 10_000;
const BAD_KEYS: f64 = 0.002;

/// What differs between the sides, and what happens to both.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    name: &'static str,
    /// The ratio of requests that fail on both sides.
    failing: f64,
    has_incident: bool,
    has_popular_keys: bool,
    has_shadow: bool,
    /// More failures of the new side.
    more_failing: f64,
    /// More slow answers of the new side.
    more_slow: f64,
    /// How many times as long the new side takes.
    slower: f64,
    /// The spread of times.
    spread: f64,
    /// How often the old side's answer differs from its own, if that is measured, and how much more often
    /// the new side's does.
    differing: Option<(f64, f64)>,
    /// One share for the whole ramp.
    share: Option<f64>,
    /// The new side's requests, or pairs, within which it must be caught.
    within: Option<Within>,
}

#[derive(Clone, Copy, Debug)]
enum Within {
    Requests(f64),
    Pairs(f64),
}

const EQUAL: Scenario = Scenario {
    name: "steady",
    failing: 0.0,
    has_incident: false,
    has_popular_keys: false,
    has_shadow: true,
    more_failing: 0.0,
    more_slow: 0.0,
    slower: 1.0,
    spread: 0.6,
    differing: None,
    share: None,
    within: None,
};

/// Ramps of sides that are equal.
pub fn equal() -> Vec<Scenario> {
    let mut all = Vec::new();
    for failing in [0.0, 0.0005, 0.002, 0.005, 0.01, 0.02] {
        let steady = Scenario { failing, ..EQUAL };
        all.push(steady);
        all.push(Scenario { name: "an incident of both", has_incident: true, ..steady });
        all.push(Scenario { name: "popular keys, sticky", has_popular_keys: true, ..steady });
    }
    for differing in [0.01, 0.2] {
        let name = if differing < 0.1 { "1% of answers differ" } else { "20% of answers differ" };
        all.push(Scenario { name, failing: 0.002, differing: Some((differing, 0.0)), ..EQUAL });
    }
    all
}

/// Ramps of a new side that is worse; the bounds are twice the p90 of a single test (docs/gates.md).
pub fn worse() -> Vec<Scenario> {
    let at = |share, requests| Scenario {
        failing: 0.001,
        has_shadow: false,
        share: Some(share),
        within: Some(Within::Requests(requests)),
        ..EQUAL
    };
    let failing = |share, requests| Scenario {
        name: "0.5 points more failures",
        more_failing: 0.005,
        ..at(share, requests)
    };
    let slow = |share, requests| Scenario {
        name: "5% of answers slow",
        more_slow: 0.04,
        ..at(share, requests)
    };
    let doubled = |spread| Scenario {
        name: "all times doubled",
        slower: 2.0,
        spread,
        has_shadow: true,
        share: Some(0.05),
        within: Some(Within::Pairs(260.0)),
        ..EQUAL
    };
    let differing = |name, differing, pairs| Scenario {
        name,
        differing: Some(differing),
        has_shadow: true,
        share: Some(0.05),
        within: Some(Within::Pairs(pairs)),
        ..EQUAL
    };
    vec![
        failing(0.01, 4352.0),
        failing(0.05, 4848.0),
        failing(0.5, 10194.0),
        slow(0.05, 652.0),
        slow(0.5, 1544.0),
        doubled(0.3),
        doubled(0.6),
        doubled(1.0),
        differing("5 points more differ than 1%", (0.01, 0.05), 400.0),
        differing("20 points more differ than 20%", (0.2, 0.2), 800.0),
    ]
}

impl Scenario {
    /// Whether the route measures how often the old side's answers differ.
    pub fn has_noise(&self) -> bool {
        self.differing.is_some()
    }
}

/// What became of the ramps of a scenario.
#[derive(Clone, Debug)]
pub struct Outcome {
    scenario: Scenario,
    ramps: usize,
    rolled_back: usize,
    /// Requests or pairs until then, of each that was rolled back; sorted.
    until: Vec<f64>,
}

/// Runs a scenario's ramps, each from a seed of its own.
pub fn simulate(gates: &Gates, scenario: Scenario, ramps: usize) -> Outcome {
    let half = ramps / 2;
    let part = |seeds: std::ops::Range<usize>| -> Vec<f64> {
        seeds.filter_map(|seed| Ramp::new(scenario, seed as u64).run(gates)).collect()
    };
    let mut until = std::thread::scope(|scope| {
        let second = scope.spawn(|| part(half..ramps));
        let mut first = part(0..half);
        first.extend(second.join().unwrap_or_default());
        first
    });
    until.sort_by(f64::total_cmp);
    Outcome { scenario, ramps, rolled_back: until.len(), until }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome { scenario, ramps, rolled_back, until } = self;
        let percent = 100.0 * *rolled_back as f64 / *ramps as f64;
        let share =
            scenario.share.map_or("1, 5, 25, 50%".to_owned(), |s| format!("{}%", s * 100.0));
        let failing = 100.0 * scenario.failing;
        write!(f, "| {} | {failing}% | {share} | ", scenario.name)?;
        let quantile = |hundredths: usize| match until.len() {
            0 => f64::NAN,
            count => until[(count - 1) * hundredths / 100],
        };
        let (bound, unit) = match scenario.within {
            None => return write!(f, "{rolled_back} of {ramps} | {percent:.2}% |"),
            Some(Within::Requests(bound)) => (bound, "requests"),
            Some(Within::Pairs(bound)) => (bound, "pairs"),
        };
        let (p50, p90) = (quantile(50), quantile(90));
        write!(f, "{percent:.1}% within {bound} {unit} | {p50} / {p90} |")
    }
}

struct Ramp {
    scenario: Scenario,
    rng: Rng,
    recent: Vec<f64>,
    next: usize,
    since_renewed: usize,
    thresholds: [f64; 5],
    /// For popular keys: each key's place in the split, its popularity, and whether it fails.
    keys: Vec<(f64, f64, bool)>,
    /// The share of requests on the new side, and of failing keys on each.
    by_key: (f64, f64, f64),
}

impl Ramp {
    fn new(scenario: Scenario, seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let mut keys = Vec::new();
        if scenario.has_popular_keys {
            let all: f64 = (1..=KEYS).map(|rank| 1.0 / f64::from(rank)).sum();
            let key = |rank| (rng.f64(), 1.0 / f64::from(rank) / all, rng.f64() < BAD_KEYS);
            keys = (1..=KEYS).map(key).collect();
        }
        let mut ramp = Ramp {
            scenario,
            rng,
            recent: Vec::new(),
            next: 0,
            since_renewed: 0,
            thresholds: [0.0; 5],
            keys,
            by_key: (0.0, 0.0, 0.0),
        };
        // The shadow has been comparing before the ramp.
        for _ in 0..REMEMBERED {
            let (_, old) = ramp.pair(false);
            ramp.remember(old);
        }
        ramp
    }

    /// The requests or pairs after which the ramp was rolled back, within the scenario's bound.
    fn run(mut self, gates: &Gates) -> Option<f64> {
        let shares = self.scenario.share.map_or(SHARES.to_vec(), |share| vec![share]);
        let intervals = if self.scenario.share.is_some() { usize::MAX } else { INTERVALS_OF_STEP };
        let incident = self.rng.usize(..SHARES.len() * INTERVALS_OF_STEP);
        let assigned =
            if self.scenario.has_popular_keys { Assigned::ByKey } else { Assigned::ByRequest };
        let mut trial = Trial::new(gates, shares.len());
        let (mut requests, mut pairs, mut number) = (0.0, 0.0, 0);
        for (step, share) in shares.iter().enumerate() {
            if step > 0 {
                trial.next_step();
            }
            self.assign(*share);
            for _ in 0..intervals {
                let happens = number >= incident && number < incident + INCIDENT.0;
                let interval = self.interval(*share, happens && self.scenario.has_incident);
                number += 1;
                requests += interval.new.requests;
                pairs += interval.pairs;
                trial.add(&interval, assigned);
                let (so_far, bound) = match self.scenario.within {
                    None => (requests, f64::INFINITY),
                    Some(Within::Requests(bound)) => (requests, bound),
                    Some(Within::Pairs(bound)) => (pairs, bound),
                };
                if so_far > bound {
                    return None;
                }
                if trial.worse(gates).is_some() {
                    return Some(so_far);
                }
            }
        }
        None
    }

    fn assign(&mut self, share: f64) {
        let of_new = |key: &&(f64, f64, bool)| key.0 < share;
        let weight: f64 = self.keys.iter().filter(of_new).map(|key| key.1).sum();
        let bad = |new: bool| -> f64 {
            let of_side = self.keys.iter().filter(|key| key.2 && of_new(key) == new);
            of_side.map(|key| key.1).sum()
        };
        self.by_key = (weight, bad(true) / weight.max(1e-9), bad(false) / (1.0 - weight));
    }

    fn interval(&mut self, share: f64, incident: bool) -> Interval {
        let s = self.scenario;
        let failing = if incident { (s.failing * INCIDENT.1).min(0.5) } else { s.failing };
        let slow = if incident { INCIDENT.2 } else { SLOW.0 };
        let (share, bad_of_new, bad_of_old) =
            if s.has_popular_keys { self.by_key } else { (share, 0.0, 0.0) };
        let n = self.binomial(REQUESTS, share);
        let m = REQUESTS - n;
        let any = |a: f64, b: f64| a + b - a * b;
        // The old side helps, unless the key fails there too.
        let alone = (failing + s.more_failing) * (1.0 - failing) * (1.0 - bad_of_new);
        let helped = self.binomial(n, alone);
        let new = Arm {
            requests: f64::from(n),
            failures: f64::from(
                helped + self.binomial(n - helped, any(failing * failing, bad_of_new)),
            ),
            helped: f64::from(helped),
            slow: f64::from(self.binomial(n, slow + s.more_slow)),
        };
        let old = Arm {
            requests: f64::from(m),
            failures: f64::from(self.binomial(m, any(failing, bad_of_old))),
            helped: 0.0,
            slow: f64::from(self.binomial(m, slow)),
        };
        let mut interval = Interval { new, old, ..Interval::default() };
        if s.has_shadow {
            self.compare(&mut interval, failing, incident);
        }
        interval
    }

    fn compare(&mut self, interval: &mut Interval, failing: f64, incident: bool) {
        let mut pairs = PAIRS;
        if let Some((noise, more)) = self.scenario.differing {
            let of_old = self.binomial(PAIRS, NOISE);
            pairs -= of_old;
            let differ = |requests: u32, events: u32| Counts {
                requests: f64::from(requests),
                events: f64::from(events),
            };
            interval.compared = differ(pairs, self.binomial(pairs, noise + more));
            interval.noise = differ(of_old, self.binomial(of_old, noise));
        }
        interval.pairs = f64::from(pairs);
        let (new, old) = (failing + self.scenario.more_failing, failing);
        interval.failed = Alone {
            new: f64::from(self.binomial(pairs, new * (1.0 - old))),
            old: f64::from(self.binomial(pairs, old * (1.0 - new))),
        };
        for _ in 0..pairs {
            let (new, old) = self.pair(incident);
            for (alone, threshold) in interval.slower.iter_mut().zip(self.thresholds) {
                match (new > threshold, old > threshold) {
                    (true, false) => alone.new += 1.0,
                    (false, true) => alone.old += 1.0,
                    _ => {}
                }
            }
            self.remember(old);
        }
    }

    /// The times of the new and the old side for one request.
    fn pair(&mut self, incident: bool) -> (f64, f64) {
        // Box and Muller: two normal numbers from two uniform ones.
        let radius = (-2.0 * (1.0 - self.rng.f64()).ln()).sqrt();
        let (sine, cosine) = (TAU * self.rng.f64()).sin_cos();
        let slow = if incident { INCIDENT.2 } else { SLOW.0 };
        let mut time = |normal: f64| {
            let extra = if self.rng.f64() < slow { SLOW.1 } else { 0.0 };
            MEDIAN * (self.scenario.spread * normal).exp() + extra
        };
        let (new, old) = (time(radius * sine), time(radius * cosine));
        (new * self.scenario.slower, old)
    }

    fn remember(&mut self, old: f64) {
        if self.recent.len() < REMEMBERED {
            self.recent.push(old);
        } else {
            self.recent[self.next] = old;
            self.next = (self.next + 1) % REMEMBERED;
        }
        self.since_renewed += 1;
        if self.since_renewed == RENEWED_EACH {
            self.since_renewed = 0;
            let mut sorted = self.recent.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            let at = |hundredths: usize| sorted[(sorted.len() - 1) * hundredths / 100];
            self.thresholds = [at(50), at(90), at(95), at(99), 2.0 * at(99)];
        }
    }

    /// How many of `n` happen, each with the probability `p`.
    fn binomial(&mut self, n: u32, p: f64) -> u32 {
        if p > 0.5 {
            return n - self.binomial(n, 1.0 - p);
        }
        if p <= 0.0 {
            return 0;
        }
        // Jumps from one success to the next (Devroye 1986, X.4.3).
        let (mut count, mut at) = (0, 0.0);
        loop {
            at += ((1.0 - self.rng.f64()).ln() / (1.0 - p).ln()).floor() + 1.0;
            if at > f64::from(n) {
                return count;
            }
            count += 1;
        }
    }
}
