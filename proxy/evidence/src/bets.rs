//! Sequential tests: how strong the evidence is against "the new side is no worse than the old one".
//!
//! # The bet
//!
//! A [`Wealth`] begins as one coin and bets on numbers g whose mean is at most 0 if the sides are equal: after each g,
//! it is multiplied by 1 + λg. If g is never below -f, any λ in (0, 1/f) keeps the wealth positive, and its expectation
//! never rises. So it reaches 1/α with a probability of at most α, however often and whenever it is checked (Ville's
//! inequality). Only the bound and the mean of g are assumed (Waudby-Smith and Ramdas, "Estimating means of bounded
//! random variables by betting", JRSS B 2023, section 4). λ is 3, 10, 30 and 90 % of its bound, averaged: an average of
//! such bets is a valid bet too.
//!
//! # The unit
//!
//! Each g comes from a block of time, not from a request, because failures come in bunches: a restart fails all
//! requests within its second, and three timeouts make nginx pause a side. In a block, n requests of the new side have
//! x events, and m requests of the old side have y; t = n / (n + m), k = x + y. If a request's event does not depend on
//! its side, the mean of x is tk, whatever made k large: an incident of both sides cancels out. So
//!
//! > g = (x - tk - μn(1 - t)) / max(1, k)
//!
//! has a mean of at most 0 if the new side's rate is at most μ above the old side's. For μ = 0 this holds exactly,
//! given k; for larger μ it holds as long as less than half of the requests have events, since a large x comes with a
//! large k, which divides it. g is at least -t - μn(1 - t) and at most 1, so a bunch weighs as much as a single
//! failure.
//!
//! # Attempts that stop: `attempted`, `least` and `stops`
//!
//! Failures count by attempts, and attempts stop when nginx pauses a side. So n depends on x: a side that fails early in
//! a block makes few attempts, and a block of many attempts is one without early failures. Take two equal sides that
//! each stop at their first failure, with room for N = 100 and M = 4 requests and a chance p = 0.2 of failure. The g
//! above then has a mean of 0.147 instead of 0: the new side would be rolled back for having more traffic.
//!
//! Each attempt still fails with the same chance, whether or not another one follows. So the mean of x is p times the
//! mean of n (Wald's identity), that of y is p times that of m, and since the sides stop independently, the mean of
//! xm - yn is pE(n)E(m) - pE(m)E(n) = 0. The numerator of g is x - tk = (xm - yn) / (n + m), whose divisor also depends
//! on x. Multiplied by [`attempted`](Block::attempted) = (n + m) / (N + M), the share of requests that became attempts,
//! it is (xm - yn) / (N + M). N and M are the clients' choice, so its mean is 0.
//!
//! The k that divides g is x + y, and again depends on where a side stopped: in the example it leaves a mean of 0.008.
//! A divisor that no block falls short of would leave none. So a test whose attempts stop (`stops` in
//! [`trial`](crate::trial)) divides by at least twice the k of the blocks so far, [`least`](Block::least), which is known
//! before the block and so depends on nothing in it. With 2E(k) the mean is 0. Only a bunch of more than twice the usual
//! k is divided by itself, so that it still weighs no more than one.
//!
//! Equal programs that restart equally often still differ in g, since a restart costs a block on the side with little
//! traffic as well as on the other: the difference is (1 - 2t)q for a frequency of q. μ compensates for that: with one
//! restart in ten minutes, blocks of 5 s and μ = 0.001, from one request per second on. With less traffic, a block
//! rarely has both a restart and a request. λ also has a bound of its own, `LEAST_FLOOR`, so that at a share of 1 % one
//! failure wins at most a factor of 5, not of 100.
//!
//! # The band
//!
//! The same bets for other μ, and mirrored bets ("at least μ above"), give a confidence sequence: the values that the
//! counts do not exclude (Howard, Ramdas, McAuliffe and Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence
//! sequences", Annals of Statistics 2021; the inversion is in section 4 of the paper above). For the mirrored bet,
//! dividing by k would reward a small x, so it divides by the number expected from the old side's rate:
//!
//! > g = (a - x) / max(1, a),  a = yn/m + μn
//!
//! a / max(1, a) is concave in y, so randomness in y only lowers the mean (Jensen). x counts only up to a + 2 max(1,
//! a).
//!
//! # Time and limits
//!
//! For time out of service, in seconds per block, g is the difference of the two shares of the time, minus μ. The old
//! side's time counts for at most a quarter of a block. For an absolute limit, g is the share of events minus the
//! limit: g = x / n - μ.

use serde::{Deserialize, Serialize};

/// The parts of the largest possible λ.
const STAKES: [f64; 4] = [0.03, 0.1, 0.3, 0.9];
/// The smallest bound of g: at 0.225, λ is at most 4.
const LEAST_FLOOR: f64 = 0.225;
/// The largest part of a block for which the old side's time out of service counts.
const LONGEST_OLD: f64 = 0.25;

/// Requests, and how many of them were bad; or seconds, and how many of them were out of service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// All requests.
    pub requests: f64,
    /// The bad requests among them.
    pub events: f64,
}

impl Counts {
    /// The share of bad requests; 0 without requests.
    pub fn rate(self) -> f64 {
        if self.requests > 0.0 { self.events / self.requests } else { 0.0 }
    }

    /// Adds other counts.
    pub fn add(&mut self, other: Counts) {
        self.requests += other.requests;
        self.events += other.events;
    }
}

/// The kind of counts in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Events of requests.
    Events,
    /// Seconds out of service.
    Time,
    /// Events of the new side's requests, compared with a limit.
    Limit,
}

/// The counts of a block of time.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// The kind of counts.
    pub unit: Unit,
    /// The new side's counts.
    pub new: Counts,
    /// The old side's counts.
    pub old: Counts,
    /// The share of all requests that became attempts; [why](self#attempts-that-stop-attempted-least-and-stops).
    pub attempted: f64,
    /// The smallest number that events are divided by; [why](self#attempts-that-stop-attempted-least-and-stops).
    pub least: f64,
}

impl Block {
    /// A block of requests that all became attempts.
    pub fn new(unit: Unit, new: Counts, old: Counts) -> Self {
        Block { unit, new, old, attempted: 1.0, least: 1.0 }
    }

    /// Whether the block has requests of both sides; for a limit, of the new side.
    pub fn compares(&self) -> bool {
        self.new.requests > 0.0 && (self.old.requests > 0.0 || self.unit == Unit::Limit)
    }

    /// The new side's events beyond its share of all events, and the weight to divide them by to get a rate (Mantel and
    /// Haenszel).
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

    /// g and its bound, for a bet against "the new side's rate is at most `above` over the old side's".
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

    /// g and its bound, for a bet against "the new side's rate is at least `above` over the old side's".
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

/// The wealth that one coin has become: its logarithm, for each stake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wealth([f64; STAKES.len()]);

impl Wealth {
    /// The wealth after one bet that the new side's rate is more than `above` over the old side's.
    pub fn of_worse(block: Block, above: f64) -> Self {
        Wealth::of(block.worse(above))
    }

    /// The wealth after one bet that the new side's rate is less than `above` over the old side's.
    pub fn of_better(block: Block, above: f64) -> Self {
        Wealth::of(block.better(above))
    }

    fn of((gain, floor): (f64, f64)) -> Self {
        let gain = gain.max(-floor) / floor;
        Wealth(STAKES.map(|stake| (stake * gain).ln_1p()))
    }

    /// Multiplies the wealth by the outcome of another bet.
    pub fn bet(&mut self, outcome: Wealth) {
        self.0.iter_mut().zip(outcome.0).for_each(|(log, more)| *log += more);
    }

    /// The logarithm of the average over the stakes.
    pub fn log(&self) -> f64 {
        log_mean(&self.0)
    }

    /// The logarithm of the largest stake's wealth. It is quick to compute, and the average never exceeds it.
    pub fn most(&self) -> f64 {
        self.0.into_iter().fold(f64::NEG_INFINITY, f64::max)
    }
}

/// log(mean(exp(x))), without overflow. The average of several bets on one question is a valid bet too.
pub fn log_mean(logs: &[f64]) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return most;
    }
    let sum: f64 = logs.iter().map(|log| (log - most).exp()).sum();
    most + (sum / logs.len() as f64).ln()
}

/// The multiples of a limit at which bets are made, to find the ends of a band.
const GRID: [f64; 17] = [
    -64.0, -16.0, -8.0, -4.0, -2.0, -1.0, -0.5, -0.2, 0.0, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0,
];

/// The bets for a grid of differences. The band is the range of differences that they do not exclude.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Band {
    scale: f64,
    bets: Vec<[Wealth; 2]>,
}

impl Band {
    /// A band without counts. `limit` sets its scale.
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

    /// The lower and the upper end; `None` if an end is beyond the grid. Each end is wrong with a probability of at
    /// most its alpha, however often it is checked.
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

/// Where the evidence along a grid falls below `needed`; `None` if it is below from the start. Interpolates between two
/// values of the grid, assuming that the evidence grows with the square of the distance from the estimate, but never
/// excludes a value of the grid that is still possible.
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
