//! What a run has seen of both sides, and what its tests make of that.
//!
//! Intervals, one for each scrape, are joined into blocks of time, which the tests bet on (see [`crate::bets`]). Each
//! test bets on the whole run and anew on each step: a fault that comes with more load shows at its step, however
//! well the steps before it went. Half of alpha is for the whole run and half is divided among the steps, and all of
//! it among the tests, so a run of equal sides is rolled back with a probability of at most alpha.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::answers::Answers;
use crate::bets::{Band, Block, Counts, Wealth, log_mean};
use crate::gates::{Counted, Gates, Test};
use crate::interval::{Assigned, CLASSES, Interval, SLOWER};
use crate::{Difference, Reading, Verdict};

/// The probability with which a proof may err.
const PROOF_ALPHA: f64 = 0.05;
/// How far apart the sides may be by chance in what depends on the key, where the split goes by it: the most popular
/// of 10,000 keys has a tenth of the requests (Zipf).
const EXCESS_OF_KEYS: f64 = 0.25;

/// The bets on one question, on the whole run and on the step, and what was counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Part {
    whole: Wealth,
    step: Wealth,
    band: Option<Band>,
    new: Counts,
    old: Counts,
    surplus: f64,
    weight: f64,
    blocks: f64,
}

impl Part {
    fn add(&mut self, mut block: Block, above: f64, stops: bool) {
        if stops {
            block.least =
                (2.0 * (self.new.events + self.old.events) / self.blocks.max(1.0)).max(1.0);
        }
        // A block without clients' requests, which only the shadow has counted, says nothing of how often they fail.
        if block.new.requests + block.old.requests > 0.0 {
            self.blocks += 1.0;
        }
        self.new.add(block.new);
        self.old.add(block.old);
        if !block.compares() {
            return;
        }
        let (surplus, weight) = block.surplus();
        self.surplus += surplus;
        self.weight += weight;
        let outcome = Wealth::of_worse(block, above);
        self.whole.bet(outcome);
        self.step.bet(outcome);
        if let Some(band) = &mut self.band {
            band.add(block);
        }
    }

    fn estimate(&self) -> f64 {
        if self.weight > 0.0 { self.surplus / self.weight } else { 0.0 }
    }
}

/// The bets of one test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Evidence {
    parts: Vec<Part>,
    absolute: Option<Part>,
    proof: Wealth,
    proof_counts: Counts,
}

impl Evidence {
    fn new(test: &Test) -> Self {
        let parts = match test.counts {
            Counted::Statuses => CLASSES.len(),
            Counted::PairLatency => SLOWER.len(),
            _ => 1,
        };
        let part = Part { band: Some(Band::new(test.excess)), ..Part::default() };
        let absolute = test.absolute.map(|_| Part::default());
        Evidence { parts: vec![part; parts], absolute, ..Evidence::default() }
    }

    /// The logarithms of the bets on the whole run and on the step.
    fn logs(&self) -> (f64, f64) {
        let of = |wealth: fn(&Part) -> Wealth| {
            log_mean(&self.parts.iter().map(|part| wealth(part).log()).collect::<Vec<_>>())
        };
        (of(|part| part.whole), of(|part| part.step))
    }

    /// The question with the strongest evidence.
    fn strongest(&self) -> usize {
        let log = |index: &usize| self.parts[*index].whole.log().max(self.parts[*index].step.log());
        let all = 0..self.parts.len();
        all.max_by(|a, b| log(a).total_cmp(&log(b))).unwrap_or_default()
    }
}

/// The evidence of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    evidence: BTreeMap<String, Evidence>,
    /// The block that is not full yet, and when its first interval ended.
    open: Option<(f64, Interval)>,
    moved: Option<f64>,
    asked: f64,
    answers: Answers,
    /// How long it has been collecting, in seconds, and until when.
    seconds: f64,
    until: f64,
    steps: usize,
    assigned: Assigned,
}

impl Trial {
    /// Nothing seen yet. `steps` is how many steps the run has.
    pub fn new(gates: &Gates, steps: usize) -> Self {
        let of = |test: &Test| (test.name.clone(), Evidence::new(test));
        let bets = gates.tests.iter().filter(|test| test.counts != Counted::ShadowAnswers);
        Trial { evidence: bets.map(of).collect(), steps, ..Trial::default() }
    }

    /// Without the bands, which only people need.
    pub fn without_bands(mut self) -> Self {
        let parts = self.evidence.values_mut().flat_map(|evidence| &mut evidence.parts);
        parts.for_each(|part| part.band = None);
        self
    }

    /// The share moved at this time, or something else that ends one comparison and begins another: a reload,
    /// a restart of a counter.
    pub fn moved(&mut self, at: f64) {
        self.moved = Some(at);
        self.open = None;
    }

    /// Adds an interval. Those of several proxies may come a little out of order. One that spans a move is left out.
    pub fn add(&mut self, interval: &Interval, gates: &Gates, assigned: Assigned) {
        let began = interval.end - interval.seconds;
        let settled = self.moved.map_or(f64::INFINITY, |moved| began - moved);
        if settled < gates.block.as_secs_f64() {
            return;
        }
        let mut interval = *interval;
        // Sessions that break end sooner: while others that began with them go on, the ended ones say nothing.
        if gates
            .tests
            .iter()
            .filter_map(|test| test.own.as_ref())
            .any(|own| settled < own.lasts.as_secs_f64())
        {
            (interval.own_new, interval.own_old) = Default::default();
        }
        self.assigned = assigned;
        self.asked += interval.new.requests + interval.pairs;
        self.answers.add(&interval);
        self.seconds += (interval.end - began.max(self.until)).max(0.0);
        self.until = self.until.max(interval.end);
        self.reach(interval.end, gates);
        self.open.get_or_insert((interval.end, Interval::default())).1.add(&interval);
    }

    /// Bets on the open block if it is over at this time. What several proxies and the shadow count at the same time is
    /// one block. Scrapes are not apart to the millisecond.
    pub fn reach(&mut self, now: f64, gates: &Gates) {
        let length = 0.9 * gates.block.as_secs_f64();
        if let Some((_, block)) = self.open.take_if(|(first, _)| now - *first >= length) {
            self.close(&block, gates);
        }
    }

    fn close(&mut self, block: &Interval, gates: &Gates) {
        for test in &gates.tests {
            let Some(evidence) = self.evidence.get_mut(&test.name) else { continue };
            let above = excess(test, self.assigned);
            let blocks = block.blocks(test.counts, self.assigned);
            if let Some(proof) = test.proof {
                let asked = match test.counts {
                    Counted::Failures => block.asked(self.assigned),
                    _ => blocks[0],
                };
                if asked.compares() {
                    evidence.proof.bet(Wealth::of_better(asked, proof));
                    evidence.proof_counts.add(asked.new);
                }
            }
            for (part, block) in evidence.parts.iter_mut().zip(blocks) {
                part.add(block, above, test.counts == Counted::Failures);
            }
            if let (Some(part), Some(limit)) = (&mut evidence.absolute, test.absolute)
                && let Some(block) = block.above(limit, self.assigned)
            {
                part.add(block, limit, false);
            }
        }
    }

    /// The next step begins.
    pub fn next_step(&mut self) {
        for evidence in self.evidence.values_mut() {
            let parts = evidence.parts.iter_mut().chain(&mut evidence.absolute);
            parts.for_each(|part| part.step = Wealth::default());
        }
    }

    /// Requests of clients and of the shadow that the new side was asked so far.
    pub fn asked(&self) -> f64 {
        self.asked
    }

    /// What each test says now.
    pub fn readings(&self, gates: &Gates) -> Vec<Reading> {
        gates.tests.iter().map(|test| self.reading(test, gates)).collect()
    }

    /// The first test that says that the new side is worse.
    pub fn worse<'a>(&self, gates: &'a Gates) -> Option<&'a Test> {
        gates.tests.iter().find(|test| {
            let evidence = self.evidence.get(&test.name);
            evidence.is_some_and(|evidence| self.fails(evidence, self.alpha(gates)).is_some())
        })
    }

    /// Whether every test has the proof that it asks for.
    pub fn is_proven(&self, gates: &Gates) -> bool {
        gates.tests.iter().all(|test| self.missing(test).is_none())
    }

    /// What one bet may spend on the whole run: the steps share as much.
    fn alpha(&self, gates: &Gates) -> f64 {
        let bets = self.evidence.values().map(|one| 1 + usize::from(one.absolute.is_some()));
        0.5 * gates.alpha / bets.sum::<usize>().max(1) as f64
    }

    /// How a test fails, in words.
    fn fails(&self, evidence: &Evidence, alpha: f64) -> Option<&'static str> {
        let (whole, step) = (-alpha.ln(), (self.steps.max(1) as f64 / alpha).ln());
        let mut parts = evidence.parts.iter().chain(&evidence.absolute);
        if parts.all(|part| part.whole.most() < whole && part.step.most() < step) {
            return None;
        }
        let logs = evidence.logs();
        let above = evidence.absolute.as_ref().map(|part| (part.whole.log(), part.step.log()));
        let reaches = |logs: (f64, f64)| logs.0 >= whole || logs.1 >= step;
        match above {
            Some(above) if reaches(above) => Some("above the absolute limit"),
            _ if logs.0 >= whole => Some("worse"),
            _ if logs.1 >= step => Some("worse in this step"),
            _ => None,
        }
    }

    fn reading(&self, test: &Test, gates: &Gates) -> Reading {
        if test.counts == Counted::ShadowAnswers {
            return self.answers.reading(test);
        }
        let Some(evidence) = self.evidence.get(&test.name) else {
            return Reading::without(&test.name, "a test that is new since the run began");
        };
        let alpha = self.alpha(gates);
        let (fails, missing) = (self.fails(evidence, alpha), self.missing(test));
        let verdict = match (fails, &missing) {
            (Some(_), _) => Verdict::Fail,
            (None, Some(_)) => Verdict::Inconclusive,
            (None, None) => Verdict::Pass,
        };
        let index = evidence.strongest();
        let part = &evidence.parts[index];
        let of_parts = alpha / evidence.parts.len() as f64;
        let band = part.band.as_ref();
        let (lower, upper) =
            band.map(|band| band.ends(part.estimate(), of_parts, PROOF_ALPHA)).unwrap_or_default();
        let limit = excess(test, self.assigned);
        let difference = Difference { lower, estimate: part.estimate(), upper, limit };
        let notes = [Some(self.counted(test, index, part)), fails.map(str::to_owned), missing];
        let detail = notes.into_iter().flatten().collect::<Vec<_>>().join("; ");
        Reading {
            verdict,
            value: Some(difference.estimate),
            limit: Some(limit),
            difference: Some(difference),
            detail,
            ..Reading::without(&test.name, "")
        }
    }

    fn counted(&self, test: &Test, index: usize, part: &Part) -> String {
        let of = |Counts { requests, events }: Counts| format!("{events:.0} of {requests:.0}");
        let (new, old) = (of(part.new), of(part.old));
        match test.counts {
            Counted::Slow if self.assigned == Assigned::ByKey => {
                "the split is by key, so pairs compare".to_owned()
            }
            Counted::Statuses => format!("{}: new {new}, old {old}", CLASSES[index]),
            Counted::PairLatency => format!("{}: new alone {new}, old alone {old}", SLOWER[index]),
            Counted::PairFailures => format!("new alone {new}, old alone {old}"),
            Counted::Differences => format!("both sides {new}, the old one and itself {old}"),
            Counted::Outages => format!("new {new} s, old {old} s"),
            Counted::Failures
            | Counted::Slow
            | Counted::Empty
            | Counted::Own
            | Counted::ShadowAnswers => {
                format!("new {new}, old {old}")
            }
        }
    }

    /// What a test still needs to pass, in words.
    fn missing(&self, test: &Test) -> Option<String> {
        let (proof, evidence) = (test.proof?, self.evidence.get(&test.name)?);
        let (log, needed) = (evidence.proof.log(), -PROOF_ALPHA.ln());
        if log >= needed {
            return None;
        }
        let so_far = evidence.proof_counts.requests;
        // At the pace so far; before that shows anything, as if nothing happened to either side.
        let pace = if log > needed / 10.0 { log / so_far } else { 0.4 * proof };
        let more = (needed - log) / pace;
        Some(format!("needs about {more:.0} more{}", self.wait(more, so_far)))
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

/// The difference that matters to a test.
fn excess(test: &Test, assigned: Assigned) -> f64 {
    match test.counts {
        Counted::Statuses | Counted::Empty if assigned == Assigned::ByKey => {
            test.excess.max(EXCESS_OF_KEYS)
        }
        _ => test.excess,
    }
}

#[cfg(test)]
mod tests;
