//! Sequential tests: how strongly counts speak against "the new side is no worse than the old one".
//!
//! # The bet
//!
//! A [`Wealth`] is what one coin has become by betting on numbers g whose mean is at most 0 if the sides are
//! equal: after each, it is multiplied by 1 + λg. Where g is never below -f, any λ in (0, 1/f) keeps it
//! positive, and its expectation never rises. So it reaches 1/α with a probability of at most α, however often
//! and whenever one looks (Ville's inequality). Nothing is assumed of g but its bound and its mean (Waudby-Smith and
//! Ramdas, "Estimating means of bounded random variables by betting", JRSS B 2023, section 4). λ is 3, 10, 30 and
//! 90 % of its bound, averaged: an average of such bets is one too.
//!
//! # The unit
//!
//! One g comes from a block of time, not from a request, because failures come in bunches: a restart fails whatever
//! comes within its second, and three timeouts make nginx pause a side. In a block, n requests of the new side had
//! x events and m of the old side y; t = n / (n + m), k = x + y. If a request's event does not depend on its
//! side, then x is tk on average, whatever made k so large: an incident of both sides cancels. So
//!
//! > g = (x - tk - μn(1 - t)) / max(1, k)
//!
//! has a mean of at most 0 where the new side's rate is at most μ above the old one's: for μ = 0 exactly, given k;
//! beyond, as long as events are not half of all, since a large x comes with a large k, which divides it. It is at least -t - μn(1 - t), and at most 1:
//! a bunch weighs as much as a single failure.
//!
//! Attempts stop when nginx pauses a side, so there n depends on x: a side that fails early makes few. Each attempt still
//! fails with one chance, so x is that times n on average (Wald's identity), and xm - yn is 0. So g is multiplied by the
//! share of requests that became attempts, which makes its numerator (xm - yn) / (N + M), with all N and M requests;
//! and it is divided by no less than twice the usual k, since dividing by k prefers the blocks that stopped early.
//!
//! Equal programs that restart equally often differ in g, since a restart on the side with less traffic is as much a
//! block as one on the other: (1 - 2t)q for a frequency of q. μ pays for that: at one restart in ten minutes, blocks
//! of 5 s, and μ = 0.001, from one request a second on. Below, a block rarely has both a restart and a request.
//! λ has a bound of its own too, `LEAST_FLOOR`, so that at a share of 1 % one failure wins a factor of 5 at most,
//! not of 100.
//!
//! # The band
//!
//! The same bets for other μ, and mirrored bets ("at least μ above"), give the values that the counts leave
//! possible: a confidence sequence (Howard, Ramdas, McAuliffe and Sekhon, "Time-uniform, nonparametric, nonasymptotic
//! confidence sequences", Annals of Statistics 2021; the inversion is in section 4 of the paper above). For the mirrored
//! bet, dividing by k would reward small x, so it divides by what the old side's rate lets one expect:
//!
//! > g = (a - x) / max(1, a),  a = yn/m + μn
//!
//! a / max(1, a) is concave in y, so chance in y only lowers the mean (Jensen). x counts up to a + 2 max(1, a).
//!
//! # Time and limits
//!
//! Time out of service is a number of seconds per block: g is the difference of the two shares of the time, minus μ; a
//! quarter of a block of the old side's counts at most. An absolute limit takes the share of events itself: g = x / n - μ.

use serde::{Deserialize, Serialize};

/// The parts of the largest possible λ.
const STAKES: [f64; 4] = [0.03, 0.1, 0.3, 0.9];
/// The smallest bound of g: at 0.225, λ is at most 4.
const LEAST_FLOOR: f64 = 0.225;
/// How much of a block the old side's time out of service counts at most.
const LONGEST_OLD: f64 = 0.25;

/// Requests, and those of them to which something bad happened; or seconds, and those out of service.
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

/// What a block of time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Events of requests.
    Events,
    /// Seconds out of service.
    Time,
    /// Events of the new side's requests, beside a limit.
    Limit,
}

/// A block of time.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// What it counts.
    pub unit: Unit,
    /// The new side's counts.
    pub new: Counts,
    /// The old side's counts.
    pub old: Counts,
    /// Of all requests, the share that became attempts.
    pub attempted: f64,
    /// What the events are divided by at least.
    pub least: f64,
}

impl Block {
    /// Of requests that all became attempts.
    pub fn new(unit: Unit, new: Counts, old: Counts) -> Self {
        Block { unit, new, old, attempted: 1.0, least: 1.0 }
    }

    /// Whether both sides are there to compare.
    pub fn compares(&self) -> bool {
        self.new.requests > 0.0 && (self.old.requests > 0.0 || self.unit == Unit::Limit)
    }

    /// The new side's events beyond its share of all, and what they are divided by to become a rate (Mantel
    /// and Haenszel).
    pub fn surplus(&self) -> (f64, f64) {
        let (n, m) = (self.new.requests, self.old.requests);
        match self.unit {
            Unit::Limit => (self.new.events, n),
            _ => {
                let share = n / (n + m);
                let surplus = self.new.events - share * (self.new.events + self.old.events);
                (self.attempted * surplus, self.attempted * n * (1.0 - share))
            }
        }
    }

    fn swapped(self) -> Block {
        Block { new: self.old, old: self.new, ..self }
    }

    /// g and its bound, against "the new side's rate is at most `above` over the old one's".
    fn worse(self, above: f64) -> (f64, f64) {
        if above < 0.0 {
            return self.swapped().better(-above);
        }
        let (new, old) = (self.new.rate(), self.old.rate());
        match self.unit {
            Unit::Events => {
                let ((surplus, weight), k) = (self.surplus(), self.new.events + self.old.events);
                let share = self.new.requests / (self.new.requests + self.old.requests);
                let floor = (share + above * weight).clamp(LEAST_FLOOR, 1.0);
                ((surplus - above * weight) / k.max(self.least), floor)
            }
            Unit::Time => (new - old.min(LONGEST_OLD) - above, LONGEST_OLD + above),
            Unit::Limit => (new - above, above),
        }
    }

    /// g and its bound, against "the new side's rate is at least `above` over the old one's".
    fn better(self, above: f64) -> (f64, f64) {
        if above < 0.0 {
            return self.swapped().worse(-above);
        }
        match self.unit {
            Unit::Events => {
                let expected = (self.old.rate() + above) * self.new.requests;
                ((expected - self.new.events) / expected.max(1.0), 2.0)
            }
            Unit::Time | Unit::Limit => (above + self.old.rate() - self.new.rate(), 1.0),
        }
    }
}

/// What one coin has become; its logarithm, for each stake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wealth([f64; STAKES.len()]);

impl Wealth {
    /// After one bet that the new side's rate is more than `above` over the old one's.
    pub fn of_worse(block: Block, above: f64) -> Self {
        Wealth::of(block.worse(above))
    }

    /// After one bet that it is less than `above` over the old one's.
    pub fn of_better(block: Block, above: f64) -> Self {
        Wealth::of(block.better(above))
    }

    fn of((gain, floor): (f64, f64)) -> Self {
        let gain = gain.max(-floor) / floor;
        Wealth(STAKES.map(|stake| (stake * gain).ln_1p()))
    }

    /// Bets all of it once more, with this outcome.
    pub fn bet(&mut self, outcome: Wealth) {
        self.0.iter_mut().zip(outcome.0).for_each(|(log, more)| *log += more);
    }

    /// The logarithm of the average.
    pub fn log(&self) -> f64 {
        log_mean(&self.0)
    }

    /// The logarithm of the largest, which is quick, and which the average never exceeds.
    pub fn most(&self) -> f64 {
        self.0.into_iter().fold(f64::NEG_INFINITY, f64::max)
    }
}

/// log(mean(exp(x))), without overflow: of several bets on one question, the average is one too.
pub fn log_mean(logs: &[f64]) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return most;
    }
    let sum: f64 = logs.iter().map(|log| (log - most).exp()).sum();
    most + (sum / logs.len() as f64).ln()
}

/// Multiples of a limit at which the ends of a band are looked for.
const GRID: [f64; 17] = [
    -64.0, -16.0, -8.0, -4.0, -2.0, -1.0, -0.5, -0.2, 0.0, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0,
];

/// The bets for a grid of differences, whose ends of belief make a band.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Band {
    scale: f64,
    bets: Vec<[Wealth; 2]>,
}

impl Band {
    /// Nothing counted yet. `limit` sets the scale.
    pub fn new(limit: f64) -> Self {
        Band { scale: limit.max(1e-4), bets: vec![Default::default(); GRID.len()] }
    }

    /// Adds a block.
    pub fn add(&mut self, block: Block) {
        for ([worse, better], multiple) in self.bets.iter_mut().zip(GRID) {
            worse.bet(Wealth::of_worse(block, multiple * self.scale));
            better.bet(Wealth::of_better(block, multiple * self.scale));
        }
    }

    /// The lower and the upper end; `None` where it is beyond the grid. Each is wrong with a probability of at most the
    /// one given for it, however often one looks.
    pub fn ends(
        &self,
        estimate: f64,
        lower_alpha: f64,
        upper_alpha: f64,
    ) -> (Option<f64>, Option<f64>) {
        let heights =
            |side: usize| GRID.into_iter().zip(self.bets.iter().map(move |bets| bets[side].log()));
        let estimate = estimate / self.scale;
        let lower = end(heights(0), estimate, -lower_alpha.ln());
        let upper = end(heights(1).rev(), estimate, -upper_alpha.ln());
        (lower.map(|end| end * self.scale), upper.map(|end| end * self.scale))
    }
}

/// Where the evidence along a grid falls below `needed`; `None` if it never is so high. It grows with the square of the
/// distance from the estimate; no value of the grid that is still possible is left out.
fn end(grid: impl Iterator<Item = (f64, f64)>, estimate: f64, needed: f64) -> Option<f64> {
    let mut refuted: Option<(f64, f64)> = None;
    for (at, height) in grid {
        if height < needed {
            return refuted.map(|(before, height)| {
                let end = estimate + (before - estimate) * (needed / height).sqrt();
                end.clamp(before.min(at), before.max(at))
            });
        }
        refuted = Some((at, height));
    }
    refuted.map(|(at, _)| at)
}

#[cfg(test)]
mod tests;
