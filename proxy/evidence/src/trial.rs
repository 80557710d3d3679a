//! The evidence of a run, and the readings of its tests.
//!
//! Intervals, one for each scrape, are joined into blocks of time, which the tests bet on (see [`crate::bets`]). Each
//! test bets on the whole run, and anew on each step: a fault that appears only with more load shows in its step,
//! however well the earlier steps went. Half of alpha is for the whole run, and half is divided among the steps. Both
//! halves are divided among the tests. So a run of equal sides is rolled back with a probability of at most alpha.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::answers::Answers;
use crate::bets::{Band, Block, Counts, Wealth, log_mean};
use crate::gates::{Gates, Quantity, Test};
use crate::interval::{Assignment, CLASSES, Interval, SLOWER};
use crate::keys::{ODD, Odds};
use crate::sample_ratio::SampleRatio;
use crate::{Difference, Reading, Verdict};

/// The probability with which a proof may be wrong.
const PROOF_ALPHA: f64 = 0.05;
/// The wealth of its bets above which a test that needs no proof does not pass if more than its excess was counted: what
/// it had at first. Equal sides lose some with each block.
const DOUBT: f64 = 1.0;
/// As `DOUBT`, for odd keys, of which no more may come to lower it.
const DOUBT_OF_KEYS: f64 = 20.0;
/// How much the sides may differ by chance in counts that depend on the key, if the split is by key: the most popular
/// of 10,000 keys has a tenth of the requests (Zipf).
const EXCESS_OF_KEYS: f64 = 0.25;

/// The bets on one question, for the whole run and for the step, and the counts.
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
        // A block with only the shadow's counts shows nothing about how often clients' requests fail.
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

/// The bets on the keys of one event, for the whole run and for the step, and the counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Keys {
    whole: Odds,
    step: Odds,
    /// Odd keys of each side.
    found: [f64; 2],
    /// Requests of each side, and those with the event that is not known to be the key's.
    new: Counts,
    old: Counts,
}

impl Keys {
    fn add(&mut self, block: &Interval, event: usize) {
        let Interval { new, old, share, .. } = block;
        let found = [new.odd_keys[event], old.odd_keys[event]];
        for bet in [&mut self.whole, &mut self.step] {
            bet.bet(found[0], found[1], share / 100.0);
        }
        self.found = [self.found[0] + found[0], self.found[1] + found[1]];
        self.new.add(new.had(event));
        self.old.add(old.had(event));
    }

    /// The logarithms of the wealth for the whole run and for the step; 0 for a difference that does not matter.
    fn logs(&self, excess: f64) -> (f64, f64) {
        let matters = self.new.rate() - self.old.rate() > excess;
        if matters { (self.whole.log(), self.step.log()) } else { (0.0, 0.0) }
    }
}

/// The events of the odd keys that a test is about.
fn events(test: &Test) -> Range<usize> {
    match test.counts {
        Quantity::Failures => 0..1,
        Quantity::Statuses => 1..ODD.len(),
        _ => 0..0,
    }
}

/// The bets of one test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Evidence {
    parts: Vec<Part>,
    absolute: Option<Part>,
    /// The bets on odd keys, one for each event that the test is about.
    #[serde(default)]
    keys: Vec<Keys>,
    proof: Wealth,
    proof_counts: Counts,
}

impl Evidence {
    fn new(test: &Test) -> Self {
        let parts = match test.counts {
            Quantity::Statuses => CLASSES.len(),
            Quantity::PairLatency => SLOWER.len(),
            _ => 1,
        };
        let part = Part { band: Some(Band::new(test.excess)), ..Part::default() };
        let absolute = test.absolute.map(|_| Part::default());
        let keys = vec![Keys::default(); events(test).len()];
        Evidence { parts: vec![part; parts], absolute, keys, ..Evidence::default() }
    }

    /// The logarithms of the wealth for the whole run and for the step.
    fn logs(&self) -> (f64, f64) {
        let of = |wealth: fn(&Part) -> Wealth| {
            log_mean(&self.parts.iter().map(|part| wealth(part).log()).collect::<Vec<_>>())
        };
        (of(|part| part.whole), of(|part| part.step))
    }

    /// The index of the question with the strongest evidence.
    fn strongest(&self) -> usize {
        let log = |index: &usize| self.parts[*index].whole.log().max(self.parts[*index].step.log());
        let all = (0..self.parts.len()).filter(|at| *at == 0 || self.parts[*at].weight > 0.0);
        all.max_by(|a, b| log(a).total_cmp(&log(b))).unwrap_or_default()
    }
}

/// The evidence of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    evidence: BTreeMap<String, Evidence>,
    /// The open block, and when its first interval ended.
    open: Option<(f64, Interval)>,
    moved: Option<f64>,
    asked: f64,
    answers: Answers,
    #[serde(default)]
    ratio: SampleRatio,
    /// For how many seconds counts were collected, and until when.
    seconds: f64,
    until: f64,
    steps: usize,
    assigned: Assignment,
}

impl Trial {
    /// A trial without evidence. `steps` is the number of the run's steps.
    pub fn new(gates: &Gates, steps: usize) -> Self {
        let of = |test: &Test| (test.name.clone(), Evidence::new(test));
        let about_a_side =
            |test: &&Test| ![Quantity::ShadowAnswers, Quantity::SampleRatio].contains(&test.counts);
        let bets = gates.tests.iter().filter(about_a_side);
        Trial { evidence: bets.map(of).collect(), steps, ..Trial::default() }
    }

    /// The trial without bands, which only people need.
    pub fn without_bands(mut self) -> Self {
        let parts = self.evidence.values_mut().flat_map(|evidence| &mut evidence.parts);
        parts.for_each(|part| part.band = None);
        self
    }

    /// Records that the share changed at this time. Drops the open block.
    pub fn moved(&mut self, at: f64) {
        self.moved = Some(at);
        self.open = None;
        self.ratio = SampleRatio::default();
    }

    /// Adds an interval. Intervals of several proxies may come slightly out of order. Leaves out an interval that began
    /// before a move, or less than a block after it.
    pub fn add(&mut self, interval: &Interval, gates: &Gates, assigned: Assignment) {
        let began = interval.end - interval.seconds;
        let settled = self.moved.map_or(f64::INFINITY, |moved| began - moved);
        if settled < gates.block.as_secs_f64() {
            return;
        }
        let mut interval = *interval;
        // Broken sessions end sooner. While whole sessions that began with them may still go on, the ended ones are not
        // representative.
        let mut own = gates.tests.iter().filter_map(|test| test.own.as_ref());
        if own.any(|own| settled < own.lasts.as_secs_f64()) {
            (interval.own_new, interval.own_old) = Default::default();
        }
        self.assigned = assigned;
        self.asked += interval.new.requests + interval.pairs;
        self.answers.add(&interval);
        self.ratio.add(&interval, assigned);
        self.seconds += (interval.end - began.max(self.until)).max(0.0);
        self.until = self.until.max(interval.end);
        self.reach(interval.end, gates);
        self.open.get_or_insert((interval.end, Interval::default())).1.add(&interval);
    }

    /// Bets on the open block if it is over at this time. The counts of several proxies and the shadow at the same time
    /// are one block. A block may be a tenth shorter, since scrapes are not exactly periodic.
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
                    Quantity::Failures => block.asked(self.assigned),
                    _ => blocks[0],
                };
                if asked.compares() {
                    evidence.proof.bet(Wealth::of_better(asked, proof));
                    evidence.proof_counts.add(asked.new);
                }
            }
            for (keys, event) in evidence.keys.iter_mut().zip(events(test)) {
                if self.assigned == Assignment::ByKey {
                    keys.add(block, event);
                }
            }
            // A split by key has one more question.
            while evidence.parts.len() < blocks.len() {
                let band = evidence.parts[0].band.as_ref().map(|_| Band::new(test.excess));
                evidence.parts.push(Part { band, ..Part::default() });
            }
            for (part, block) in evidence.parts.iter_mut().zip(blocks) {
                part.add(block, above, test.counts == Quantity::Failures);
            }
            if let (Some(part), Some(limit)) = (&mut evidence.absolute, test.absolute)
                && evidence.parts[0].old.rate() <= limit
                && let Some(block) = block.above(limit, self.assigned)
            {
                part.add(block, limit, false);
            }
        }
    }

    /// Begins the next step: resets the bets on the step.
    pub fn next_step(&mut self) {
        for evidence in self.evidence.values_mut() {
            let parts = evidence.parts.iter_mut().chain(&mut evidence.absolute);
            parts.for_each(|part| part.step = Wealth::default());
            evidence.keys.iter_mut().for_each(|keys| keys.step = Odds::default());
        }
        self.ratio = SampleRatio::default();
    }

    /// The number of requests to the new side so far, from clients and from the shadow.
    pub fn asked(&self) -> f64 {
        self.asked
    }

    /// The current reading of each test.
    pub fn readings(&self, gates: &Gates) -> Vec<Reading> {
        gates.tests.iter().map(|test| self.reading(test, gates)).collect()
    }

    /// The first test by which the new side is worse; `None` if there is none.
    pub fn worse<'a>(&self, gates: &'a Gates) -> Option<&'a Test> {
        gates.tests.iter().find(|test| {
            let evidence = self.evidence.get(&test.name);
            evidence.is_some_and(|evidence| self.fails(test, evidence, gates).is_some())
        })
    }

    /// Whether the counts of clients' requests prove nothing, since the sides did not get their shares of them.
    fn is_void(&self, gates: &Gates) -> bool {
        let mut tests = gates.tests.iter().filter(|test| test.counts == Quantity::SampleRatio);
        tests.any(|test| self.ratio.is_void(test.excess, self.steps))
    }

    /// Whether every test has the proof that it needs, and nothing looks worse.
    pub fn is_proven(&self, gates: &Gates) -> bool {
        !self.is_void(gates) && gates.tests.iter().all(|test| self.missing(test).is_none())
    }

    /// The alpha of one bet on the whole run. The steps together share the same amount.
    fn alpha(&self, gates: &Gates) -> f64 {
        let bets_of_keys = usize::from(self.assigned == Assignment::ByKey);
        let bets = self
            .evidence
            .values()
            .map(|one| 1 + usize::from(one.absolute.is_some()) + bets_of_keys * one.keys.len());
        0.5 * gates.alpha / bets.sum::<usize>().max(1) as f64
    }

    /// How a test fails, in words; `None` if it does not fail.
    fn fails(&self, test: &Test, evidence: &Evidence, gates: &Gates) -> Option<&'static str> {
        let alpha = self.alpha(gates);
        let (whole, step) = (-alpha.ln(), (self.steps.max(1) as f64 / alpha).ln());
        let reaches = |logs: (f64, f64)| logs.0 >= whole || logs.1 >= step;
        let of_keys = evidence.keys.iter().any(|keys| reaches(keys.logs(test.excess)));
        let mut parts = evidence.parts.iter().chain(&evidence.absolute);
        if !of_keys && parts.all(|part| part.whole.most() < whole && part.step.most() < step) {
            return None;
        }
        let logs = evidence.logs();
        let above = evidence.absolute.as_ref().map(|part| (part.whole.log(), part.step.log()));
        match above {
            Some(above) if reaches(above) => Some("above the absolute limit"),
            _ if needs_the_split(test) && self.is_void(gates) => None,
            _ if of_keys => Some("worse for its keys"),
            _ if logs.0 >= whole => Some("worse"),
            _ if logs.1 >= step => Some("worse in this step"),
            _ => None,
        }
    }

    fn reading(&self, test: &Test, gates: &Gates) -> Reading {
        if test.counts == Quantity::ShadowAnswers {
            return self.answers.reading(test);
        }
        if test.counts == Quantity::SampleRatio {
            return self.ratio.reading(test, self.assigned, self.steps);
        }
        let Some(evidence) = self.evidence.get(&test.name) else {
            return Reading::without(&test.name, "this test was added after the run began");
        };
        let (fails, missing) = (self.fails(test, evidence, gates), self.missing(test));
        let verdict = match (fails, &missing) {
            (Some(_), _) => Verdict::Fail,
            (None, Some(_)) => Verdict::Inconclusive,
            (None, None) => Verdict::Pass,
        };
        let index = evidence.strongest();
        let part = &evidence.parts[index];
        let of_parts = self.alpha(gates) / evidence.parts.len() as f64;
        let band = part.band.as_ref();
        let (lower, upper) =
            band.map(|band| band.ends(part.estimate(), of_parts, PROOF_ALPHA)).unwrap_or_default();
        let limit = excess(test, self.assigned);
        let difference = Difference { lower, estimate: part.estimate(), upper, limit };
        let keys =
            evidence.keys.iter().zip(events(test)).filter(|(keys, _)| keys.found != [0.0; 2]);
        let keys = keys.map(|(keys, event)| {
            let [new, old] = keys.found;
            format!("keys that mostly get {}: new {new:.0}, old {old:.0}", ODD[event])
        });
        let notes = [Some(self.counted(test, index, part))].into_iter().flatten().chain(keys);
        let notes = notes.chain(fails.map(str::to_owned)).chain(missing);
        let detail = notes.collect::<Vec<_>>().join("; ");
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
            Quantity::Slow if self.assigned == Assignment::ByKey => {
                "the split is by key, so only pairs are compared".to_owned()
            }
            Quantity::Failures if index > 0 => format!("each key once: new {new}, old {old}"),
            Quantity::Statuses => format!("{}: new {new}, old {old}", CLASSES[index]),
            Quantity::PairLatency => format!("{}: new alone {new}, old alone {old}", SLOWER[index]),
            Quantity::PairFailures => format!("new alone {new}, old alone {old}"),
            Quantity::Differences => format!("both sides {new}, the old one and itself {old}"),
            Quantity::Outages => format!("new {new} s, old {old} s"),
            Quantity::Failures
            | Quantity::Slow
            | Quantity::Empty
            | Quantity::Own
            | Quantity::SampleRatio
            | Quantity::ShadowAnswers => {
                format!("new {new}, old {old}")
            }
        }
    }

    /// What a test still needs to pass, in words; `None` if nothing is missing.
    fn missing(&self, test: &Test) -> Option<String> {
        let evidence = self.evidence.get(&test.name)?;
        let part = &evidence.parts[evidence.strongest()];
        let Some(proof) = test.proof else {
            // A short step may have all its proofs before this test can fail.
            let wealth = part.whole.log().max(part.step.log());
            let is_worse = part.estimate() > excess(test, self.assigned) && wealth > DOUBT.ln();
            let is_odd = |keys: &Keys| keys.logs(test.excess).0 > DOUBT_OF_KEYS.ln();
            let is_worse = is_worse || evidence.keys.iter().any(is_odd);
            return is_worse.then(|| "looks worse so far".to_owned());
        };
        let (log, needed) = (evidence.proof.log(), -PROOF_ALPHA.ln());
        if log >= needed {
            return None;
        }
        let so_far = evidence.proof_counts.requests;
        // Uses the pace so far or, before there is one, the pace of two sides without any events.
        let pace = if log > needed / 10.0 { log / so_far } else { 0.4 * proof };
        let more = (needed - log) / pace;
        Some(format!("needs about {more:.0} more{}", self.wait(more, so_far)))
    }

    /// How long `more` further requests take at the pace so far; empty if there is no pace yet.
    fn wait(&self, more: f64, so_far: f64) -> String {
        if so_far < 1.0 || self.seconds < 1.0 {
            return String::new();
        }
        let seconds = (more * self.seconds / so_far).ceil().clamp(1.0, 3e9);
        format!(", {}", humantime::format_duration(Duration::from_secs_f64(seconds)))
    }
}

/// Whether a test compares requests that the split assigned.
fn needs_the_split(test: &Test) -> bool {
    use Quantity::{Empty, Failures, Slow, Statuses};
    matches!(test.counts, Failures | Slow | Statuses | Empty)
}

/// The difference that matters to a test.
fn excess(test: &Test, assigned: Assignment) -> f64 {
    match test.counts {
        Quantity::Statuses | Quantity::Empty if assigned == Assignment::ByKey => {
            test.excess.max(EXCESS_OF_KEYS)
        }
        _ => test.excess,
    }
}

#[cfg(test)]
mod tests;
