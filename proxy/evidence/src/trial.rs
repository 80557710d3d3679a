//! What a run has seen of both sides, and what its tests make of that.
//!
//! Each test bets on the whole run and anew on each step (see [`crate::bets`]): a fault that comes with
//! more load shows at its step, however well the steps before it went. Half of the stake is on the whole
//! run, the other half is divided among the steps, so that all of it is one bet, and a run of equal sides
//! is rolled back with a probability of at most alpha, over all tests, steps and judgements.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bets::{
    Counts, Groups, Pairs, log_e_above, log_e_of_any, requests_for_proof, upper_bound,
};
use crate::gates::{Counted, Gates, Test};
use crate::{Reading, Verdict};

/// The probability with which a proof may err.
const PROOF_ALPHA: f64 = 0.05;
/// The thresholds of the shadow, in the order of `Interval::slower`.
pub const SLOWER: [&str; 5] = ["p50", "p90", "p95", "p99", "twice_p99"];

/// What clients of one side saw in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Arm {
    /// Requests that were assigned to it.
    pub requests: f64,
    /// Those that it failed, though the other side may have answered then.
    pub failures: f64,
    /// Those of them that the other side did answer, and not with a failure of its own.
    pub helped: f64,
    /// Those whose answer took longer than the test allows.
    pub slow: f64,
}

/// Pairs in which one side alone was bad.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Alone {
    /// The new side.
    pub new: f64,
    /// The old side.
    pub old: f64,
}

/// The counts between two scrapes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// Requests assigned to the new side.
    pub new: Arm,
    /// Requests assigned to the old side.
    pub old: Arm,
    /// Requests that the shadow sent to both sides.
    pub pairs: f64,
    /// Of these, with a failure.
    pub failed: Alone,
    /// Of these, slower than each threshold.
    pub slower: [Alone; 5],
    /// Pairs of both sides that were judged, and those that differ.
    pub compared: Counts,
    /// Pairs of the old side with itself that were judged, and those that differ.
    pub noise: Counts,
    /// What the new side counted itself, and the old one.
    pub own: (Counts, Counts),
}

/// How requests are assigned to sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assigned {
    /// Each request by itself: two groups of requests can be compared.
    ByRequest,
    /// By a key that comes again. A key that always fails would count as its side's fault, so of the new
    /// side only those failures count that the old side then helped with, and times only in pairs.
    ByKey,
}

/// One bet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Bet {
    Failures(Groups),
    Slow(Groups),
    PairFailures(Pairs),
    Slower(Box<[Pairs; 5]>),
    Differences(Groups),
    Own(Groups),
    /// Failures beyond an absolute limit.
    Above(Counts, f64),
}

impl Bet {
    fn of(counted: Counted) -> Self {
        match counted {
            Counted::Failures => Bet::Failures(Groups::default()),
            Counted::Slow => Bet::Slow(Groups::default()),
            Counted::PairFailures => Bet::PairFailures(Pairs::default()),
            Counted::PairLatency => Bet::Slower(Box::default()),
            Counted::Differences => Bet::Differences(Groups::default()),
            Counted::Own => Bet::Own(Groups::default()),
        }
    }

    fn again(&self) -> Self {
        match self {
            Bet::Failures(_) => Bet::of(Counted::Failures),
            Bet::Slow(_) => Bet::of(Counted::Slow),
            Bet::PairFailures(_) => Bet::of(Counted::PairFailures),
            Bet::Slower(_) => Bet::of(Counted::PairLatency),
            Bet::Differences(_) => Bet::of(Counted::Differences),
            Bet::Own(_) => Bet::of(Counted::Own),
            Bet::Above(_, limit) => Bet::Above(Counts::default(), *limit),
        }
    }

    fn add(&mut self, interval: &Interval, assigned: Assigned) {
        let of = |arm: Arm, events| Counts { requests: arm.requests, events };
        let Interval { new, old, pairs, failed, slower, compared, noise, own } = *interval;
        match self {
            Bet::Failures(groups) if assigned == Assigned::ByRequest => {
                groups.add(of(new, new.failures), of(old, old.failures));
            }
            Bet::Slow(groups) if assigned == Assigned::ByRequest => {
                groups.add(of(new, new.slow), of(old, old.slow));
            }
            Bet::Failures(groups) => groups.add(of(new, new.helped), of(old, old.failures)),
            Bet::Slow(_) => {}
            Bet::PairFailures(all) => all.add(pairs, failed.new, failed.old),
            Bet::Slower(all) => {
                for (all, alone) in all.iter_mut().zip(slower) {
                    all.add(pairs, alone.new, alone.old);
                }
            }
            // The shadow draws lots for which pair a request becomes, whatever the split goes by.
            Bet::Differences(groups) => groups.add(compared, noise),
            Bet::Own(groups) => groups.add(own.0, own.1),
            // While the old side fails as often, it is no fault of the new one. A share of few keys may
            // have one that always fails, on either side.
            Bet::Above(_, limit) if old.requests > 0.0 && old.failures / old.requests > *limit => {}
            Bet::Above(..) if assigned == Assigned::ByKey && new.requests < old.requests => {}
            Bet::Above(counts, _) => counts.add(of(new, new.failures)),
        }
    }

    fn log_e(&self) -> f64 {
        match self {
            Bet::Failures(groups)
            | Bet::Slow(groups)
            | Bet::Differences(groups)
            | Bet::Own(groups) => groups.log_e(),
            Bet::PairFailures(pairs) => pairs.log_e(),
            Bet::Slower(all) => log_e_of_any(&(**all).map(|pairs| pairs.log_e())),
            Bet::Above(counts, limit) => log_e_above(*counts, *limit),
        }
    }

    fn excess(&self) -> f64 {
        match self {
            Bet::Failures(groups)
            | Bet::Slow(groups)
            | Bet::Differences(groups)
            | Bet::Own(groups) => groups.excess(),
            Bet::PairFailures(pairs) => pairs.excess(),
            Bet::Slower(all) => all.iter().map(Pairs::excess).fold(0.0, f64::max),
            Bet::Above(counts, limit) => counts.rate() - limit,
        }
    }

    /// What was counted of the new side and of the old one.
    fn counts(&self) -> (Counts, Counts) {
        match self {
            Bet::Failures(groups)
            | Bet::Slow(groups)
            | Bet::Differences(groups)
            | Bet::Own(groups) => (groups.new_counts(), groups.old_counts()),
            Bet::PairFailures(pairs) => (pairs.new_alone(), pairs.old_alone()),
            Bet::Slower(all) => {
                let most = all.iter().max_by(|a, b| a.excess().total_cmp(&b.excess()));
                most.map_or_else(Default::default, |pairs| (pairs.new_alone(), pairs.old_alone()))
            }
            Bet::Above(counts, _) => (*counts, Counts::default()),
        }
    }
}

/// The bets of one test: on the whole run, on its steps so far, and on the step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Evidence {
    whole: Bet,
    past_steps: Vec<f64>,
    step: Bet,
}

impl Evidence {
    fn new(bet: Bet) -> Self {
        Evidence { step: bet.again(), whole: bet, past_steps: Vec::new() }
    }

    /// The logarithm of the e-value of all bets together. `steps` is their number, past and to come.
    fn log_e(&self, steps: usize) -> f64 {
        let steps = steps.max(self.past_steps.len() + 1);
        let to_come = (steps - self.past_steps.len() - 1) as f64;
        let stake = (0.5 / steps as f64).ln();
        let mut logs = vec![0.5_f64.ln() + self.whole.log_e(), stake + self.step.log_e()];
        logs.extend(self.past_steps.iter().map(|log_e| stake + log_e));
        if to_come > 0.0 {
            logs.push(stake + to_come.ln()); // not placed yet
        }
        log_e_of_any(&logs) + (logs.len() as f64).ln() // the sum, not the average
    }

    fn excess(&self) -> f64 {
        self.whole.excess().max(self.step.excess())
    }
}

/// The evidence of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    evidence: BTreeMap<String, Evidence>,
    /// The new side's failures of all requests that it was asked, by clients and by the shadow.
    asked: Counts,
    /// The old side's, of clients.
    old: Counts,
    pairs: f64,
    /// How long it has been collecting, in seconds.
    seconds: f64,
    steps: usize,
    is_by_key: bool,
}

fn absolute_name(test: &Test) -> String {
    format!("{} absolute", test.name)
}

impl Trial {
    /// Nothing seen yet. `steps` is how many steps the run has.
    pub fn new(gates: &Gates, steps: usize) -> Self {
        let mut evidence = BTreeMap::new();
        for test in &gates.tests {
            evidence.insert(test.name.clone(), Evidence::new(Bet::of(test.counts)));
            if let Some(limit) = test.absolute {
                let bet = Bet::Above(Counts::default(), limit);
                evidence.insert(absolute_name(test), Evidence::new(bet));
            }
        }
        Trial { evidence, steps, ..Trial::default() }
    }

    /// Time passes while intervals are collected.
    pub fn pass(&mut self, time: Duration) {
        self.seconds += time.as_secs_f64();
    }

    /// Adds an interval.
    pub fn add(&mut self, interval: &Interval, assigned: Assigned) {
        self.is_by_key = assigned == Assigned::ByKey;
        for evidence in self.evidence.values_mut() {
            evidence.whole.add(interval, assigned);
            evidence.step.add(interval, assigned);
        }
        let Interval { new, old, pairs, failed, .. } = interval;
        self.asked
            .add(Counts { requests: new.requests + pairs, events: new.failures + failed.new });
        self.old.add(Counts { requests: old.requests, events: old.failures });
        self.pairs += pairs;
    }

    /// The next step begins.
    pub fn next_step(&mut self) {
        for evidence in self.evidence.values_mut() {
            evidence.past_steps.push(evidence.step.log_e());
            evidence.step = evidence.step.again();
        }
    }

    /// Requests of clients and of the shadow that the new side was asked so far.
    pub fn asked(&self) -> f64 {
        self.asked.requests
    }

    /// What each test says now.
    pub fn readings(&self, gates: &Gates) -> Vec<Reading> {
        let needed = self.evidence.len() as f64 / gates.alpha;
        gates.tests.iter().map(|test| self.reading(test, needed)).collect()
    }

    /// The first test that says that the new side is worse.
    pub fn worse<'a>(&self, gates: &'a Gates) -> Option<&'a Test> {
        let needed = (self.evidence.len() as f64 / gates.alpha).ln();
        let is_worse = |test: &&Test| {
            let evidence = self.evidence.get(&test.name);
            let weighed = evidence.map(|evidence| self.weigh(test, evidence));
            weighed.is_some_and(|(log_e, is_worse)| is_worse && log_e >= needed)
        };
        gates.tests.iter().find(is_worse)
    }

    /// The logarithm of a test's e-value, and whether the difference is large enough to matter.
    fn weigh(&self, test: &Test, evidence: &Evidence) -> (f64, bool) {
        let excess = evidence.excess();
        let relative = (evidence.log_e(self.steps), excess >= test.excess && excess > 0.0);
        match self.evidence.get(&absolute_name(test)) {
            Some(above) if above.excess() > 0.0 => {
                let log_e = above.log_e(self.steps);
                if log_e > relative.0 { (log_e, true) } else { relative }
            }
            _ => relative,
        }
    }

    fn reading(&self, test: &Test, needed: f64) -> Reading {
        let Some(evidence) = self.evidence.get(&test.name) else {
            return Reading::without(&test.name, "a test that is new since the run began");
        };
        let (log_e, is_worse) = self.weigh(test, evidence);
        let missing = self.missing(test);
        let verdict = match &missing {
            _ if log_e >= needed.ln() && is_worse => Verdict::Fail,
            Some(_) => Verdict::Inconclusive,
            None => Verdict::Pass,
        };
        let mut detail = self.counted(test, evidence);
        if let Some(missing) = missing.filter(|_| verdict == Verdict::Inconclusive) {
            detail += "; ";
            detail += &missing;
        }
        Reading {
            gate: test.name.clone(),
            verdict,
            value: Some(log_e.min(700.0).exp()),
            compare: "<".to_owned(),
            limit: Some(needed),
            problem: String::new(),
            detail,
        }
    }

    fn counted(&self, test: &Test, evidence: &Evidence) -> String {
        let (new, old) = evidence.whole.counts();
        let of = |counts: Counts| {
            format!(
                "{:.0} of {:.0} ({:.2}%)",
                counts.events,
                counts.requests,
                100.0 * counts.rate()
            )
        };
        match test.counts {
            Counted::Slow if self.is_by_key => "the split is by key, so pairs compare".to_owned(),
            Counted::Failures | Counted::Slow | Counted::Own => {
                format!("new {}, old {}", of(new), of(old))
            }
            Counted::Differences => {
                format!("both sides {}, the old one and itself {}", of(new), of(old))
            }
            Counted::PairFailures | Counted::PairLatency => {
                format!(
                    "of {:.0} pairs, new alone {:.0}, old alone {:.0}",
                    new.requests, new.events, old.events
                )
            }
        }
    }

    /// What a test still needs to pass, in words.
    fn missing(&self, test: &Test) -> Option<String> {
        let proof = test.proof?;
        match test.counts {
            Counted::PairFailures | Counted::PairLatency => {
                let all = Counts { requests: self.pairs, events: 0.0 };
                self.more_for(all, proof, "pairs")
            }
            Counted::Differences => {
                let (both, noise) = self.evidence.get(&test.name)?.whole.counts();
                self.more_for(both, noise.rate() + proof, "pairs")
            }
            Counted::Own => {
                let (new, old) = self.evidence.get(&test.name)?.whole.counts();
                self.more_for(new, old.rate() + proof, "of them")
            }
            // What the old side fails too is no fault of the new one.
            Counted::Failures | Counted::Slow => {
                self.more_for(self.asked, self.old.rate() + proof, "requests")
            }
        }
    }

    /// What is missing until the rate is proven to be at most `limit`, in words.
    fn more_for(&self, counts: Counts, limit: f64, what: &str) -> Option<String> {
        if upper_bound(counts, PROOF_ALPHA) <= limit {
            return None;
        }
        Some(match requests_for_proof(counts, limit, PROOF_ALPHA) {
            Some(needed) => {
                let more = needed - counts.requests;
                format!("needs about {more:.0} more {what}{}", self.wait(more, counts.requests))
            }
            None => format!(
                "{} {:.2}%, which no number of {what} proves to be at most {:.2}%",
                if what == "pairs" { "differ" } else { "fails" },
                100.0 * counts.rate(),
                100.0 * limit
            ),
        })
    }

    /// How long so many more take, at the pace so far.
    fn wait(&self, more: f64, so_far: f64) -> String {
        if so_far < 1.0 || self.seconds < 1.0 {
            return String::new();
        }
        let seconds = (more * self.seconds / so_far).ceil().clamp(1.0, 3e9);
        format!(", {}", humantime::format_duration(Duration::from_secs_f64(seconds)))
    }
}

#[cfg(test)]
mod tests {
    use route::Route;

    use super::*;

    #[test]
    fn a_side_with_more_slow_answers_is_worse_if_it_is_the_new_one_and_the_share_is_of_requests() {
        let route = Route::parse("report", "path = \"/report\"\n").expect("a route");
        let gates = Gates::of(&route).expect("valid");
        let arm = |slow: f64| Arm { requests: 1000.0, slow, ..Arm::default() };
        for (new, old, assigned, expected) in [
            (200.0, 10.0, Assigned::ByRequest, Some("slow")),
            (10.0, 200.0, Assigned::ByRequest, None),
            (200.0, 200.0, Assigned::ByRequest, None),
            // Whoever has a slow key may ask for it often.
            (200.0, 10.0, Assigned::ByKey, None),
        ] {
            let mut trial = Trial::new(&gates, 1);
            trial.add(&Interval { new: arm(new), old: arm(old), ..Interval::default() }, assigned);
            let worse = trial.worse(&gates).map(|test| test.name.as_str());
            assert_eq!(worse, expected, "{new} new, {old} old, {assigned:?}");
        }
    }
}
