//! How long the steps of a ramp take: they are played with as many requests as there were, and sides that are equal.

use std::time::Duration;

use route::Share;

use crate::bets::Counts;
use crate::gates::{Gate, Gates, Limit, Otherwise, Window};
use crate::interval::{Arm, Assigned, Interval};
use crate::trial::Trial;

/// A step that takes longer never ends.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// What there was, per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pace {
    /// Clients' requests of the route.
    pub requests: f64,
    /// Those of the old side that failed, as a ratio.
    pub failures: f64,
    /// Requests that the shadow sent to both sides.
    pub pairs: f64,
    /// Pairs that it judged.
    pub compared: f64,
    /// How the split assigns requests.
    pub assigned: Assigned,
}

/// How long each step takes, up to the first that never ends.
pub fn lengths(
    gates: &Gates,
    pace: &Pace,
    steps: &[Share],
    hold: Duration,
) -> Vec<Option<Duration>> {
    played(gates, pace, steps, hold, LONGEST.max(2 * hold))
}

/// The same, up to the first that takes longer than `at_most`.
fn played(
    gates: &Gates,
    pace: &Pace,
    steps: &[Share],
    hold: Duration,
    at_most: Duration,
) -> Vec<Option<Duration>> {
    let seconds = gates.block.as_secs_f64();
    let mut trial = Trial::new(gates, steps.len()).without_bands();
    let (mut lengths, mut began) = (Vec::new(), 0.0);
    for share in steps {
        let new = pace.requests * f64::from(*share) / 100.0;
        let enough = |after: f64| {
            let has = |(gate, rate): (&str, f64)| rate * after >= least(gates, gate);
            [("comparisons", pace.compared), ("requests", new)].into_iter().all(has)
        };
        trial.moved(began);
        let mut after = 0.0;
        let length = loop {
            after += seconds;
            trial.add(&interval(pace, new, began + after, seconds), gates, pace.assigned);
            let length = Duration::from_secs_f64(after);
            if length >= hold && enough(after) && trial.is_proven(gates) {
                break Some(length);
            }
            if length > at_most {
                break None;
            }
        };
        lengths.push(length);
        if length.is_none() {
            break;
        }
        began += after;
        trial.next_step();
    }
    lengths
}

fn interval(pace: &Pace, new: f64, end: f64, seconds: f64) -> Interval {
    let arm = |rate: f64| {
        let requests = rate * seconds;
        Arm { requests, failures: requests * pace.failures, ..Arm::default() }
    };
    let (pairs, requests) = (pace.pairs * seconds, pace.compared * seconds);
    let compared = Counts { requests, events: 0.0 };
    let (new, old) = (arm(new), arm(pace.requests - new));
    Interval { end, seconds, new, old, pairs, compared, ..Interval::default() }
}

/// How many a standard gate waits for.
fn least(gates: &Gates, name: &str) -> f64 {
    let counts = |gate: &&Gate| {
        gate.name == name && gate.otherwise == Otherwise::Wait && gate.window == Window::Step
    };
    match gates.all.iter().find(counts).map(|gate| &gate.limit) {
        Some(Limit::Number(least)) => *least,
        _ => 0.0,
    }
}

/// The most careful steps that end within a time, and how long to hold each: those with the lowest share need the most
/// time, and are left out first. `None` if not even the last one does.
pub fn within<'a>(
    gates: &Gates,
    pace: &Pace,
    steps: &'a [Share],
    hold: Duration,
    time: Duration,
) -> Option<(&'a [Share], Duration)> {
    let fits = |steps: &[Share], hold: Duration| {
        let all: Option<Duration> = played(gates, pace, steps, hold, time).into_iter().sum();
        all.is_some_and(|all| all <= time)
    };
    let steps =
        (0..steps.len()).map(|left_out| &steps[left_out..]).find(|some| fits(some, hold))?;
    let count = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    // What fits is between these two. Ten halves are enough for a time that people type.
    let (mut low, mut high) = (hold, (time / count).max(hold));
    let mut tried = high;
    for _ in 0..10 {
        if fits(steps, tried) {
            low = tried
        } else {
            high = tried
        }
        tried = (low + high) / 2;
    }
    let rounded = low.as_secs() / 10 * 10;
    Some((steps, Duration::from_secs(rounded).max(hold)))
}

#[cfg(test)]
mod tests;
