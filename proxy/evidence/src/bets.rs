//! Sequential tests: how strongly counts speak against "the new side is no worse than the old one".
//!
//! An e-value is a bet against that hypothesis: what one coin has become, if each step of the bet is fair
//! under it. So it reaches 1/alpha with a probability of at most alpha, however often and whenever one
//! looks (Ville's inequality; Ramdas, Grünwald, Vovk, Shafer: "Game-theoretic statistics and safe anytime-
//! valid inference", 2023). The bets are likelihood ratios for the new side being 1.5, 2, 3, 5, 10 and 30
//! times as bad, averaged, so that neither small nor large faults escape.
//!
//! Counts are given in intervals, one for each scrape, so that an incident of both sides, which raises the
//! events of both in the same intervals, counts for neither. Numbers are counts, as `f64`.

use serde::{Deserialize, Serialize};

/// How many times as bad the new side is, in each of the bets.
const RATIOS: [f64; 6] = [1.5, 2.0, 3.0, 5.0, 10.0, 30.0];

/// Requests, and those of them to which something bad happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// All requests.
    pub requests: f64,
    /// The bad ones among them.
    pub events: f64,
}

impl Counts {
    /// The share of bad ones; 0 without requests.
    pub fn rate(self) -> f64 {
        if self.requests > 0.0 { self.events / self.requests } else { 0.0 }
    }

    /// Adds others.
    pub fn add(&mut self, other: Counts) {
        self.requests += other.requests;
        self.events += other.events;
    }
}

/// The logarithms of the bets, one for each ratio.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Bets([f64; 6]);

impl Bets {
    fn add(&mut self, log_of: impl Fn(f64) -> f64) {
        for (log, ratio) in self.0.iter_mut().zip(RATIOS) {
            *log += log_of(ratio);
        }
    }

    /// The logarithm of the average of the bets.
    fn log_e(&self) -> f64 {
        log_mean(&self.0)
    }
}

/// log(mean(exp(x))), without overflow.
fn log_mean(logs: &[f64]) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return most;
    }
    let sum: f64 = logs.iter().map(|log| (log - most).exp()).sum();
    most + (sum / logs.len() as f64).ln()
}

/// `count * factor.ln()`, where no events of an impossible kind count nothing.
fn times_ln(count: f64, factor: f64) -> f64 {
    if count == 0.0 { 0.0 } else { count * factor.ln() }
}

/// Two groups of requests, divided at random: is the rate of events higher in the new one?
///
/// Given the events of an interval, each was in the new group with the probability of the group's share
/// of requests, t0, if the rates are equal; if the new one's odds are r times as high, with
/// r n / (r n + m).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Groups {
    bets: Bets,
    /// The new group's events beyond its share (Mantel and Haenszel), and what they are divided by.
    surplus: f64,
    weight: f64,
    new: Counts,
    old: Counts,
}

impl Groups {
    /// Adds an interval.
    pub fn add(&mut self, new: Counts, old: Counts) {
        self.new.add(new);
        self.old.add(old);
        let (n, m) = (new.requests, old.requests);
        if n <= 0.0 || m <= 0.0 {
            return; // nothing to compare with
        }
        let t0 = n / (n + m);
        self.surplus += new.events - t0 * (new.events + old.events);
        self.weight += n * m / (n + m);
        self.bets.add(|ratio| {
            let share = ratio * n / (ratio * n + m);
            times_ln(new.events, share / t0) + times_ln(old.events, (1.0 - share) / (1.0 - t0))
        });
    }

    /// The logarithm of the e-value.
    pub fn log_e(&self) -> f64 {
        self.bets.log_e()
    }

    /// The new group's rate minus the old one's, interval by interval.
    pub fn excess(&self) -> f64 {
        if self.weight > 0.0 { self.surplus / self.weight } else { 0.0 }
    }

    /// The new group's counts.
    pub fn new_counts(&self) -> Counts {
        self.new
    }

    /// The old group's counts.
    pub fn old_counts(&self) -> Counts {
        self.old
    }
}

/// Pairs of answers to the same request: is the new side alone bad more often than the old side alone?
/// This is McNemar's test, as a bet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pairs {
    bets: Bets,
    pairs: f64,
    new_alone: f64,
    old_alone: f64,
}

impl Pairs {
    /// Adds pairs, and those of them in which one side alone was bad.
    pub fn add(&mut self, pairs: f64, new_alone: f64, old_alone: f64) {
        self.pairs += pairs;
        self.new_alone += new_alone;
        self.old_alone += old_alone;
        self.bets.add(|ratio| {
            let share = ratio / (1.0 + ratio);
            times_ln(new_alone, 2.0 * share) + times_ln(old_alone, 2.0 * (1.0 - share))
        });
    }

    /// The logarithm of the e-value.
    pub fn log_e(&self) -> f64 {
        self.bets.log_e()
    }

    /// The share of pairs in which the new side alone was bad, minus that of the old side.
    pub fn excess(&self) -> f64 {
        if self.pairs > 0.0 { (self.new_alone - self.old_alone) / self.pairs } else { 0.0 }
    }

    /// All pairs, and those in which the new side alone was bad.
    pub fn new_alone(&self) -> Counts {
        Counts { requests: self.pairs, events: self.new_alone }
    }

    /// All pairs, and those in which the old side alone was bad.
    pub fn old_alone(&self) -> Counts {
        Counts { requests: self.pairs, events: self.old_alone }
    }
}

/// Several tests of the same question as one: their average is an e-value too.
pub fn log_e_of_any(log_es: &[f64]) -> f64 {
    log_mean(log_es)
}

/// The logarithm of the e-value against "the rate is at most `limit`".
pub fn log_e_above(counts: Counts, limit: f64) -> f64 {
    let logs: Vec<f64> = RATIOS
        .into_iter()
        .filter(|ratio| ratio * limit < 1.0)
        .map(|ratio| {
            let rest = (1.0 - ratio * limit) / (1.0 - limit);
            times_ln(counts.events, ratio) + times_ln(counts.requests - counts.events, rest)
        })
        .collect();
    if logs.is_empty() { f64::NEG_INFINITY } else { log_mean(&logs) }
}

/// The highest rate that the counts leave possible, at any time, with the probability 1 - alpha: the end
/// of the confidence sequence of the uniform mixture (Robbins, 1970). Without events this is
/// about ln((n + 1) / alpha) / n.
pub fn upper_bound(counts: Counts, alpha: f64) -> f64 {
    let Counts { requests: n, events: x } = counts;
    if n <= 0.0 {
        return 1.0;
    }
    // The mixture's marginal likelihood is the beta function of x + 1 and n - x + 1.
    let log_beta = ln_gamma(x + 1.0) + ln_gamma(n - x + 1.0) - ln_gamma(n + 2.0);
    let possible = |p: f64| log_beta - times_ln(x, p) - times_ln(n - x, 1.0 - p) < -alpha.ln();
    let (mut low, mut high) = (x / n, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if possible(middle) { low = middle } else { high = middle }
    }
    high
}

/// How many requests in all, at the rate of these counts, bring [`upper_bound`] down to `limit`; `None`
/// if no number does, since the rate itself is above it.
pub fn requests_for_proof(counts: Counts, limit: f64, alpha: f64) -> Option<f64> {
    let rate = counts.rate();
    if rate >= limit {
        return None;
    }
    let proves = |n: f64| upper_bound(Counts { requests: n, events: rate * n }, alpha) <= limit;
    let mut high = counts.requests.max(1.0);
    while !proves(high) {
        high *= 2.0;
        if high > 1e12 {
            return None;
        }
    }
    let mut low = high / 2.0;
    while high - low > 1.0 {
        let middle = f64::midpoint(low, high);
        if proves(middle) { high = middle } else { low = middle }
    }
    Some(high.ceil())
}

/// The logarithm of the gamma function, for x >= 1 (Stirling's series, after shifting x above 10).
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series =
        inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)));
    shift + (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(requests: f64, events: f64) -> Counts {
        Counts { requests, events }
    }

    #[test]
    fn a_bet_is_fair() {
        // Every way in which 3 events of 10 requests fall into groups of 4 and 6, with its probability.
        let choose =
            |n: u32, k: u32| (0..k).fold(1.0, |c, i| c * f64::from(n - i) / f64::from(i + 1));
        let mut expected = 0.0;
        for x in 0..=3 {
            let mut groups = Groups::default();
            groups.add(counts(4.0, f64::from(x)), counts(6.0, f64::from(3 - x)));
            expected += choose(4, x) * choose(6, 3 - x) / choose(10, 3) * groups.log_e().exp();
        }
        assert!(expected <= 1.0 + 1e-12 && expected > 0.5, "{expected}");

        let mut expected = 0.0;
        for new in 0..=5 {
            let mut pairs = Pairs::default();
            pairs.add(9.0, f64::from(new), f64::from(5 - new));
            expected += choose(5, new) / 32.0 * pairs.log_e().exp();
        }
        assert!((expected - 1.0).abs() < 1e-12, "{expected}");

        let mut expected = 0.0;
        for x in 0..=20 {
            let probability =
                choose(20, x) * 0.01_f64.powf(f64::from(x)) * 0.99_f64.powf(f64::from(20 - x));
            expected += probability * log_e_above(counts(20.0, f64::from(x)), 0.01).exp();
        }
        assert!((expected - 1.0).abs() < 1e-9, "{expected}");
    }

    #[test]
    fn equal_groups_lose_and_worse_ones_win() {
        let (mut equal, mut worse, mut better) =
            (Groups::default(), Groups::default(), Groups::default());
        for _ in 0..100 {
            equal.add(counts(100.0, 2.0), counts(100.0, 2.0));
            worse.add(counts(100.0, 4.0), counts(100.0, 2.0));
            better.add(counts(100.0, 1.0), counts(100.0, 2.0));
        }
        assert!(equal.log_e() < 0.0 && better.log_e() < equal.log_e());
        assert!(worse.log_e() > 500_f64.ln());
        assert!((worse.excess() - 0.02).abs() < 1e-9 && equal.excess().abs() < 1e-9);

        // An incident of both, in which the new one has fewer requests.
        let mut incident = Groups::default();
        incident.add(counts(10.0, 5.0), counts(990.0, 495.0));
        assert!(incident.log_e() < 0.0 && incident.excess().abs() < 1e-9);
        // A baseline without events works; no control says nothing.
        let mut first = Groups::default();
        first.add(counts(10.0, 4.0), counts(990.0, 0.0));
        assert!(first.log_e() > 500_f64.ln());
        let mut alone = Groups::default();
        alone.add(counts(1000.0, 900.0), counts(0.0, 0.0));
        assert!(alone.log_e().abs() < 1e-12);
    }

    #[test]
    fn bounds_are_those_of_the_uniform_mixture() {
        for n in [100.0_f64, 2100.0, 1e6] {
            let exact = 1.0 - (0.05 / (n + 1.0)).powf(1.0 / n);
            let bound = upper_bound(counts(n, 0.0), 0.05);
            assert!((bound / exact - 1.0).abs() < 1e-6, "{n}: {bound} {exact}");
        }
        assert_eq!(upper_bound(counts(0.0, 0.0), 0.05), 1.0);
        let needed = requests_for_proof(counts(50.0, 0.0), 0.005, 0.05);
        assert!(needed.is_some_and(|needed| (2000.0..2200.0).contains(&needed)), "{needed:?}");
        assert_eq!(requests_for_proof(counts(100.0, 1.0), 0.005, 0.05), None);
        let with_errors = requests_for_proof(counts(1000.0, 2.0), 0.005, 0.05);
        assert!(with_errors > needed);
        for (x, expected) in [(1.0, 0.0), (5.0, 24_f64.ln()), (101.0, 363.739_375_555_563_5)] {
            assert!((ln_gamma(x) - expected).abs() < 1e-9, "{x}: {}", ln_gamma(x));
        }
    }
}
