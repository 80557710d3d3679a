//! Whether the split was the split: the configured share against the requests that each side got.
//!
//! Of n requests, k were the new side's, and each was to be with chance p. A mixture of all other chances, weighted by
//! Beta(a, b) around p, against p itself is the multinomial e-process of Lindon and Malek ("Anytime-valid inference for
//! multinomial count data", arXiv 2011.03567):
//!
//! > E = B(a + k, b + n - k) / (B(a, b) p^k (1 - p)^(n - k)),  a = cp,  b = c(1 - p)
//!
//! Equal ramps reach 1/α with a probability of at most α, however often one looks. What is found is that the evidence
//! is void, not that a side is bad: so a run waits, and is never rolled back by it.

use serde::{Deserialize, Serialize};
use statrs::function::beta::ln_beta;

use crate::gates::Test;
use crate::interval::{Assignment, Interval};
use crate::{Reading, Verdict};

/// c: deviations that as many requests would show are found soonest. More make the first requests weigh less.
const CONCENTRATION: f64 = 1000.0;
/// The chance with which a run with a proper split ever waits; its steps share it.
const ALPHA: f64 = 0.001;

const CAUSES: &str = "the counts of this step prove nothing. Usual causes: an nginx with another split than this one \
                      (carve status), requests that never reach the log, a split key that changes between requests";

/// The requests of a step or, if the split is by key, the keys that came for the first time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SampleRatio {
    new: f64,
    old: f64,
    share: f64,
    /// Keys that the new side had before the old one, which a growing share never causes.
    returned: f64,
}

impl SampleRatio {
    pub(crate) fn add(&mut self, interval: &Interval, assigned: Assignment) {
        let count = |requests, keys| if assigned == Assignment::ByKey { keys } else { requests };
        self.new += count(interval.new.requests, interval.new.keys);
        self.old += count(interval.old.requests, interval.old.keys);
        self.returned += interval.old.moved_keys;
        self.share = interval.share / 100.0;
    }

    fn deviation(&self) -> f64 {
        self.new / (self.new + self.old).max(1.0) - self.share
    }

    fn log(&self) -> f64 {
        let SampleRatio { new, old, share, .. } = *self;
        if share <= 0.0 || share >= 1.0 {
            return 0.0;
        }
        let (a, b) = (CONCENTRATION * share, CONCENTRATION * (1.0 - share));
        ln_beta(a + new, b + old) - ln_beta(a, b) - new * share.ln() - old * (1.0 - share).ln()
    }

    /// Whether the requests of one of so many steps were not split as configured, by at least the excess.
    pub(crate) fn is_void(&self, excess: f64, steps: usize) -> bool {
        self.deviation().abs() > excess && self.log() >= (steps.max(1) as f64 / ALPHA).ln()
    }

    pub(crate) fn reading(&self, test: &Test, assigned: Assignment, steps: usize) -> Reading {
        let (all, unit) = (self.new + self.old, assigned.unit());
        let got = 100.0 * self.new / all.max(1.0);
        let mut detail =
            format!("{got:.2} % of {all:.0} {unit}, the split says {:.2} %", 100.0 * self.share);
        if self.returned > 0.0 {
            detail += &format!("; {:.0} keys came back to the old side", self.returned);
        }
        let is_void = self.is_void(test.excess, steps);
        if is_void {
            detail = format!("{detail}; {CAUSES}");
        }
        let verdict = if is_void { Verdict::Inconclusive } else { Verdict::Pass };
        Reading {
            verdict,
            value: Some(self.deviation()),
            limit: Some(test.excess),
            detail,
            ..Reading::without(&test.name, "")
        }
    }
}

#[cfg(test)]
mod tests;
