//! A side behind nginx, attempt by attempt, as `upstreams.conf` has it: its server is listed twice, and each listing is
//! left out for 5 s after three failures (`max_fails=3 fail_timeout=5s`).
//!
//! nginx counts in whole seconds: a listing is asked again once more than 5 of them have passed since its last failure,
//! and an answer then forgets its failures (`ngx_http_upstream_round_robin.c`). Attempts that fail are played one by
//! one. Of those between that do not, only the number is drawn, since it is all that matters to nginx and to the tests.

use fastrand::Rng;

use evidence::interval::Arm;

const MAX_FAILS: u32 = 3;
const FAIL_TIMEOUT: f64 = 5.0;
/// Failures in a row that edge takes for an outage.
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
    /// The time from which it counts as out of service, if it is.
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

    /// Requests come at this rate from one time to another, and each attempt fails with this chance. Adds what edge
    /// counts of them.
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

/// A time until the next event, of those that come once a second.
fn exponential(rng: &mut Rng) -> f64 {
    -(1.0 - rng.f64()).ln()
}

/// How many events come, of `mean` on average. Large numbers are normal (Box and Muller).
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
