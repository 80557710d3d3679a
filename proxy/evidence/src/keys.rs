//! Keys as the unit, for a split by key: whether keys fare worse on the new side than chance explains.
//!
//! A key that comes again fails again, so its requests are no independent evidence, and a few keys that fail on either
//! side would count as one side's fault. But the hash of the split gives each key to the new side with the chance p of
//! its share, whatever the key is. If it makes no difference to a key which side it has, then each key that is found to
//! be odd, and counted once, is one of the new side's with chance p, in whatever order they are found: this needs
//! neither equal popularity nor independence of the keys' own faults.
//!
//! So the bet is the one of the safe logrank test, which asks of each first event on which side it is (ter Schure,
//! Pérez-Ortiz, Ly and Grünwald, "The safe logrank test", arXiv 2011.06931): with odds r times as high on the new side,
//! its chance is q = rp / (1 - p + rp), and
//!
//! > E = mean over r of (q / p)^x ((1 - q) / (1 - p))^y
//!
//! for x odd keys of the new side and y of the old one. E is a martingale for each r, also if p changes from step to
//! step, since a key that has not been counted has no side yet as far as the bet knows. `edge` finds a key odd once
//! most of its requests had the event in each of three slots of 5 s in a row, so that no restart makes one odd.

use serde::{Deserialize, Serialize};

use crate::bets::log_mean;

/// How much more often the new side's keys may be odd.
const ODDS: [f64; 5] = [2.0, 5.0, 20.0, 100.0, 1000.0];
/// A smaller share counts as this one, so that no two or three keys decide.
const LEAST_SHARE: f64 = 0.05;

/// The events that make a key odd: 5xx or no answer, and the classes of status that refuse it or send it away.
pub const ODD: [&str; 3] = ["5xx", "3xx", "4xx"];

/// The logarithm of the wealth, for each of the odds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Odds([f64; ODDS.len()]);

impl Odds {
    /// Bets on these newly found keys of each side. With all keys or none on the new side there is nothing to bet on.
    pub(crate) fn bet(&mut self, new: f64, old: f64, share: f64) {
        if share <= 0.0 || share >= 1.0 {
            return;
        }
        let share = share.max(LEAST_SHARE);
        for (log, odds) in self.0.iter_mut().zip(ODDS) {
            let chance = odds * share / (1.0 - share + odds * share);
            *log += new * (chance / share).ln() + old * ((1.0 - chance) / (1.0 - share)).ln();
        }
    }

    pub(crate) fn log(&self) -> f64 {
        log_mean(&self.0)
    }
}

#[cfg(test)]
mod tests;
