//! Simulates one ramp.

use evidence::Gates;
use evidence::bets::Counts;
use evidence::interval::{Alone, Arm, Assignment, Interval, SLOWER};
use evidence::trial::Trial;
use fastrand::Rng;

use crate::keys::Keys;
use crate::upstream::{Upstream, poisson};

const SHARES: [f64; 4] = [0.05, 0.25, 0.5, 0.75];
pub(crate) const BLOCK: f64 = 5.0;
const BLOCKS_OF_STEP: u32 = 120;
/// After this many blocks, three days, the ramp counts as still waiting.
const MOST_BLOCKS: u32 = 72 * 720;
const MIRRORED: f64 = 0.1;
/// The share of 4xx answers on both sides.
const CLIENT_ERRORS: f64 = 0.02;
/// Answer times are log-logistic: the median in seconds and the exponent. `SLOW` is the share of answers that are slow
/// for another reason.
const MEDIAN: f64 = 0.02;
const SHAPE: f64 = 3.0;
const SLOW: f64 = 0.005;
/// The time in seconds from which an answer is slow for a client (`above`).
const ABOVE: f64 = 0.25;
/// The shadow's margin on a threshold for the new side: the larger of a factor and a time.
const MARGIN: (f64, f64) = (1.1, 0.005);
/// How long a whole session lasts, in seconds. A broken session ends at any time within it.
const SESSION: f64 = 300.0;
/// An incident of both sides: its length in seconds, and the share of requests that fail.
const INCIDENT: (f64, f64) = (30.0, 0.3);
/// The share of slow answers in a burst.
const SLOW_IN_BURST: f64 = 0.3;

/// A recurring event: its average period and its length, in seconds.
type Recurring = Option<(f64, f64)>;

/// The behaviour of a side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Behaviour {
    /// The share of requests answered with 500, for which nginx does not pause the side.
    pub(crate) failing: f64,
    /// The share of requests that are not answered in time.
    pub(crate) timeouts: f64,
    /// When the side refuses connections.
    pub(crate) restarts: Recurring,
    /// When the side stands still. It answers all requests afterwards, so early ones have waited for more than `ABOVE`.
    pub(crate) stalls: Recurring,
    /// When some answers are slow.
    pub(crate) bursts: Recurring,
    /// The share of answers that are slow, beyond the usual `SLOW`.
    pub(crate) slow: f64,
    /// By how much longer answers take: with 1, twice as long.
    pub(crate) slower: f64,
    /// The share of keys that always fail. Those that fail on the side with fewer of them fail on the other one too.
    pub(crate) bad_keys: f64,
    pub(crate) broken: f64,
}

/// A kind of ramp.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) new: Behaviour,
    pub(crate) old: Behaviour,
    /// Whether both sides fail for a while after each move.
    pub(crate) has_incident: bool,
    /// Whether the sides count sessions.
    pub(crate) has_sessions: bool,
    /// Whether a step waits for its proofs. Equal sides get their proofs in the end, so their ramps need not wait.
    pub(crate) waits: bool,
}

/// How a ramp ended.
#[derive(Clone, Debug)]
pub(crate) enum End {
    Done,
    Waiting,
    /// Which test rolled back, after how many minutes, and how many requests or sessions did worse than on the old
    /// side.
    RolledBack {
        test: String,
        minutes: f64,
        hurt: f64,
    },
}

/// The next or current occurrence of a recurring event.
#[derive(Clone, Debug)]
struct Windows {
    recurring: Recurring,
    next: (f64, f64),
}

impl Windows {
    fn new(recurring: Recurring, rng: &mut Rng) -> Self {
        let mut windows = Windows { recurring, next: (f64::INFINITY, f64::INFINITY) };
        if let Some((every, length)) = recurring {
            let begin = every * rng.f64();
            windows.next = (begin, begin + length);
        }
        windows
    }

    /// The part of this time that is within an occurrence.
    fn within(&mut self, (from, to): (f64, f64), rng: &mut Rng) -> Option<(f64, f64)> {
        if let Some((every, length)) = self.recurring
            && self.next.1 <= from
        {
            let begin = (self.next.0 + every * (0.5 + rng.f64())).max(from);
            self.next = (begin, begin + length);
        }
        let (from, to) = (self.next.0.max(from), self.next.1.min(to));
        (from < to).then_some((from, to))
    }
}

struct Side {
    behaviour: Behaviour,
    upstream: Upstream,
    restarts: Windows,
    stalls: Windows,
    bursts: Windows,
}

/// The results of a side in a block.
struct Played {
    arm: Arm,
    /// The share of the time in which it was down.
    down: f64,
    /// The share of its answers that are slow.
    slow: f64,
}

impl Side {
    fn new(behaviour: Behaviour, rng: &mut Rng) -> Self {
        Side {
            behaviour,
            upstream: Upstream::new(),
            restarts: Windows::new(behaviour.restarts, rng),
            stalls: Windows::new(behaviour.stalls, rng),
            bursts: Windows::new(behaviour.bursts, rng),
        }
    }

    fn play(&mut self, from: f64, rate: f64, bad_keys: f64, failing: f64, rng: &mut Rng) -> Played {
        let (to, Behaviour { timeouts, .. }) = (from + BLOCK, self.behaviour);
        let mut arm = Arm::default();
        let down = self.restarts.within((from, to), rng);
        let (begin, end) = down.unwrap_or((to, to));
        for (from, to, chance) in [(from, begin, timeouts), (begin, end, 1.0), (end, to, timeouts)]
        {
            if from < to {
                self.upstream.play((from, to), rate, chance, rng, &mut arm);
            }
        }
        let fine = arm.requests - arm.refused - arm.failures;
        let [failed, bad] = [failing, bad_keys].map(|chance| poisson(rng, fine * chance));
        // After a 500 nobody helps. After a timeout the other side does, except for requests that fail there too.
        arm.helped = arm.failures - poisson(rng, arm.failures * failing);
        arm.failures += failed + bad;
        let errors = poisson(rng, fine * CLIENT_ERRORS);
        arm.statuses = [(fine - failed - bad - errors).max(0.0), 0.0, errors];
        let stalled = self.stalls.within((from, to), rng).map_or(0.0, |(begin, _)| {
            let early = self.stalls.next.1 - ABOVE;
            (early.min(to) - begin).max(0.0) / BLOCK
        });
        let in_burst =
            self.bursts.within((from, to), rng).map_or(0.0, |(begin, end)| (end - begin) / BLOCK);
        let slow = SLOW + self.behaviour.slow + stalled + SLOW_IN_BURST * in_burst;
        let above = slow + (1.0 - slow) * longer_than(ABOVE / (1.0 + self.behaviour.slower));
        arm.slow = poisson(rng, arm.requests * above);
        Played { arm, down: (end - begin) / BLOCK, slow }
    }
}

/// The share of the old side's usual answers that take longer than `time`.
fn longer_than(time: f64) -> f64 {
    1.0 / (1.0 + (time / MEDIAN).powf(SHAPE))
}

/// The share of a side's answers beyond each threshold of the shadow. A slow answer is beyond all thresholds.
fn beyond(slow: f64, slower: f64, is_new: bool) -> [f64; SLOWER.len()] {
    let threshold = |beyond: f64| {
        let usual = (beyond - SLOW) / (1.0 - SLOW);
        MEDIAN * ((1.0 - usual) / usual).powf(1.0 / SHAPE)
    };
    let thresholds =
        [threshold(0.5), threshold(0.1), threshold(0.05), threshold(0.01), 2.0 * threshold(0.01)];
    thresholds.map(|threshold| {
        let margin =
            if is_new { (threshold * MARGIN.0).max(threshold + MARGIN.1) } else { threshold };
        slow + (1.0 - slow) * longer_than(margin / (1.0 + slower))
    })
}

pub(crate) struct Ramp {
    scenario: Scenario,
    rate: f64,
    assigned: Assignment,
    rng: Rng,
    new: Side,
    old: Side,
    keys: Keys,
}

impl Ramp {
    pub(crate) fn new(scenario: Scenario, rate: f64, assigned: Assignment, seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let keys =
            Keys::new([scenario.new, scenario.old].map(|side| side.bad_keys), rate, &mut rng);
        let (new, old) = (Side::new(scenario.new, &mut rng), Side::new(scenario.old, &mut rng));
        Ramp { scenario, rate, assigned, rng, new, old, keys }
    }

    pub(crate) fn run(mut self, gates: &Gates) -> End {
        let mut trial = Trial::new(gates, SHARES.len()).without_bands();
        let (mut now, mut hurt, mut before, mut blocks) = (0.0, 0.0, 0.0, 0);
        for (step, share) in SHARES.into_iter().enumerate() {
            if step > 0 {
                trial.next_step();
            }
            // The move is at a random time within an interval.
            let moved = now + BLOCK * self.rng.f64();
            trial.moved(moved);
            let traffic = self.traffic(share);
            self.keys.move_to(share);
            let mut held = 0;
            while held < BLOCKS_OF_STEP || self.scenario.waits && !trial.is_proven(gates) {
                let interval = self.interval(now, moved, (before, share), traffic);
                now += BLOCK;
                held += 1;
                blocks += 1;
                hurt += self.hurt(&interval);
                trial.add(&interval, gates, self.assigned);
                if let Some(test) = trial.worse(gates) {
                    return End::RolledBack { test: test.name.clone(), minutes: now / 60.0, hurt };
                }
                if blocks > MOST_BLOCKS {
                    return End::Waiting;
                }
            }
            before = share;
        }
        End::Done
    }

    /// The new side's share of the requests, and the share of requests with a failing key on the new and on the old
    /// side.
    fn traffic(&self, share: f64) -> (f64, f64, f64) {
        match self.assigned {
            Assignment::ByRequest => (share, self.keys.bad(true), self.keys.bad(false)),
            Assignment::ByKey => (self.keys.weight_below(share), 0.0, 0.0), // `Keys` plays them
        }
    }

    fn interval(
        &mut self,
        now: f64,
        moved: f64,
        shares: (f64, f64),
        traffic: (f64, f64, f64),
    ) -> Interval {
        let (share, bad_of_new, bad_of_old) = traffic;
        let has_incident =
            self.scenario.has_incident && now + BLOCK > moved && now < moved + INCIDENT.0;
        let failing = |side: &Side| if has_incident { INCIDENT.1 } else { side.behaviour.failing };
        let (of_new, of_old) = (failing(&self.new), failing(&self.old));
        let new = self.new.play(now, self.rate * share, bad_of_new, of_new, &mut self.rng);
        let old = self.old.play(now, self.rate * (1.0 - share), bad_of_old, of_old, &mut self.rng);
        let (mut new, mut old) = (new, old);
        if self.assigned == Assignment::ByKey {
            let until = now + BLOCK;
            for (arm, is_new) in [(&mut new.arm, true), (&mut old.arm, false)] {
                self.keys.play(until, self.rate, is_new, arm, &mut self.rng);
            }
        }
        let mut interval = Interval {
            end: now + BLOCK,
            share: 100.0 * shares.1,
            seconds: BLOCK,
            new: new.arm,
            old: old.arm,
            ..Interval::default()
        };
        self.compare(&mut interval, &new, &old, (of_new, of_old));
        if self.scenario.has_sessions {
            let since = now - moved;
            interval.own_new = self.sessions(self.scenario.new.broken, since, shares.0, shares.1);
            interval.own_old =
                self.sessions(self.scenario.old.broken, since, 1.0 - shares.0, 1.0 - shares.1);
        }
        interval
    }

    /// Adds the shadow's pairs to the interval.
    fn compare(
        &mut self,
        interval: &mut Interval,
        new: &Played,
        old: &Played,
        failing: (f64, f64),
    ) {
        let pairs = poisson(&mut self.rng, self.rate * MIRRORED * BLOCK);
        interval.pairs = pairs;
        let bad =
            |side: &Played, failing: f64, timeouts: f64| (side.down + failing + timeouts).min(1.0);
        let bad_new = bad(new, failing.0, self.scenario.new.timeouts);
        let bad_old = bad(old, failing.1, self.scenario.old.timeouts);
        interval.failed = Alone {
            new: poisson(&mut self.rng, pairs * bad_new * (1.0 - bad_old)),
            old: poisson(&mut self.rng, pairs * bad_old * (1.0 - bad_new)),
        };
        let of_new = beyond(new.slow, self.scenario.new.slower, true);
        let of_old = beyond(old.slow, self.scenario.old.slower, false);
        for _ in 0..pairs as u32 {
            let (new, old) = (self.rng.f64(), self.rng.f64());
            for (alone, (of_new, of_old)) in
                interval.slower.iter_mut().zip(of_new.into_iter().zip(of_old))
            {
                match (new < of_new, old < of_old) {
                    (true, false) => alone.new += 1.0,
                    (false, true) => alone.old += 1.0,
                    _ => {}
                }
            }
        }
    }

    /// The sessions that end on a side, `since` seconds after its share changed from `before` to `share`. A session
    /// belongs to the side of the share at its beginning.
    fn sessions(&mut self, broken: f64, since: f64, before: f64, share: f64) -> Counts {
        let begun = self.rate * BLOCK;
        let past = (since / SESSION).clamp(0.0, 1.0);
        let whole = if since < SESSION { before } else { share };
        let whole = poisson(&mut self.rng, begun * (1.0 - broken) * whole);
        let broken =
            poisson(&mut self.rng, begun * broken * (past * share + (1.0 - past) * before));
        Counts { requests: whole + broken, events: broken }
    }

    /// The requests or sessions of the new side that did worse than they would have on the old side.
    fn hurt(&self, interval: &Interval) -> f64 {
        let Scenario { new, old, has_sessions, .. } = self.scenario;
        let (arm, sessions) = (interval.new, interval.own_new);
        let more = |worse: f64, usual: f64, of: f64| (worse - usual * of).max(0.0);
        match () {
            () if has_sessions => sessions.events - old.broken * sessions.requests,
            () if new.slow > old.slow => arm.slow - (SLOW + old.slow) * arm.requests,
            () if new.slower > old.slower => arm.requests,
            () => more(arm.failures + arm.refused, old.failing, arm.requests),
        }
    }
}
