//! Simulates a side behind nginx, attempt by attempt. As in `upstreams.conf`, its server is listed twice, and nginx
//! pauses each listing for 5 s after three failures (`max_fails=3 fail_timeout=5s`).
//!
//! nginx counts in whole seconds: it asks a listing again once more than 5 seconds have passed since the last failure,
//! and an answer then resets the failures (`ngx_http_upstream_round_robin.c`). Failed attempts are simulated one by
//! one. For the successful ones between them only the number is drawn, since nginx and the tests need no more.

use fastrand::Rng;

use evidence::interval::Arm;

const MAX_FAILS: u32 = 3;
const FAIL_TIMEOUT: f64 = 5.0;
/// The number of failures in a row that edge counts as an outage.
const IN_A_ROW: u32 = 5;

#[derive(Clone, Copy, Debug)]
struct Listing {
    fails: u32,
    checked: f64,
}

impl Listing {
    fn is_paused(self, now: f64) -> bool {
        self.fails >= MAX_FAILS && now.floor() - self.checked <= FAIL_TIMEOUT
    }
}

/// A side as nginx and edge see it.
#[derive(Clone, Debug)]
pub(crate) struct Upstream {
    listings: [Listing; 2],
    last_answer: f64,
    in_a_row: u32,
    first_in_a_row: f64,
    /// Since when the side is out of service; `None` if it is not.
    out_since: Option<f64>,
}

impl Upstream {
    pub(crate) fn new() -> Self {
        let listing = Listing { fails: 0, checked: f64::NEG_INFINITY };
        Upstream {
            listings: [listing; 2],
            last_answer: 0.0,
            in_a_row: 0,
            first_in_a_row: 0.0,
            out_since: None,
        }
    }

    /// Simulates requests at `rate` per second from one time to another. Each attempt fails with probability `chance`.
    /// Adds edge's counts to `arm`.
    pub(crate) fn play(
        &mut self,
        (from, to): (f64, f64),
        rate: f64,
        chance: f64,
        rng: &mut Rng,
        arm: &mut Arm,
    ) {
        let mut now = from;
        while now < to {
            if let [true, true] = self.listings.map(|listing| listing.is_paused(now)) {
                let asked_again =
                    self.listings[0].checked.min(self.listings[1].checked) + FAIL_TIMEOUT + 1.0;
                let end = asked_again.min(to);
                let refused = poisson(rng, rate * (end - now));
                arm.requests += refused;
                arm.refused += refused;
                now = end;
                continue;
            }
            let failure = now + exponential(rng) / (rate * chance);
            let end = failure.min(to);
            let answers = poisson(rng, rate * (1.0 - chance) * (end - now));
            if answers > 0.0 {
                let between = (end - now) / (answers + 1.0);
                self.answer(now + between, end - between, arm);
            }
            arm.requests += answers;
            if failure < to {
                arm.requests += 1.0;
                arm.failures += 1.0;
                self.fail(failure, rng, arm);
            }
            now = end;
        }
        if let Some(since) = self.out_since.replace(to) {
            arm.out_seconds += to - since;
        } else {
            self.out_since = None;
        }
    }

    fn answer(&mut self, first: f64, last: f64, arm: &mut Arm) {
        self.last_answer = last;
        self.in_a_row = 0;
        if let Some(since) = self.out_since.take() {
            arm.out_seconds += first - since;
        }
    }

    fn fail(&mut self, now: f64, rng: &mut Rng, arm: &mut Arm) {
        let first = rng.usize(..2);
        let index = if self.listings[first].is_paused(now) { 1 - first } else { first };
        let listing = &mut self.listings[index];
        if self.last_answer > listing.checked + FAIL_TIMEOUT + 1.0 {
            listing.fails = 0;
        }
        listing.fails += 1;
        listing.checked = now.floor();
        if self.in_a_row == 0 {
            self.first_in_a_row = now;
        }
        self.in_a_row += 1;
        if self.in_a_row == IN_A_ROW {
            arm.outages += 1.0;
            self.out_since = Some(self.first_in_a_row);
        }
    }
}

/// The random time until the next event, for one event per second on average.
fn exponential(rng: &mut Rng) -> f64 {
    -(1.0 - rng.f64()).ln()
}

/// A random number of events with this mean. Large means use a normal distribution (Box and Muller).
pub(crate) fn poisson(rng: &mut Rng, mean: f64) -> f64 {
    if mean > 50.0 {
        let normal = (2.0 * exponential(rng)).sqrt() * (std::f64::consts::TAU * rng.f64()).cos();
        return (mean + mean.sqrt() * normal).round().max(0.0);
    }
    // Products of uniform numbers until they fall below exp(-mean) (Knuth, The Art of Computer Programming, 3.4.1).
    let (end, mut product, mut count) = ((-mean).exp(), rng.f64(), 0.0);
    while product > end {
        product *= rng.f64();
        count += 1.0;
    }
    count
}

#[cfg(test)]
mod tests;
