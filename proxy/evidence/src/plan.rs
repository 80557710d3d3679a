//! Estimates how long the steps of a ramp take, by simulating them with past traffic and equal sides.

use std::time::Duration;

use route::Share;

use crate::bets::Counts;
use crate::gates::{Consequence, Gate, Gates, Limit, Window};
use crate::interval::{Arm, Assignment, Interval};
use crate::trial::Trial;

/// A step that takes longer counts as one that never ends.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// The past traffic, per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pace {
    /// Clients' requests of the route.
    pub requests: f64,
    /// The ratio of failures among the requests assigned to the old side.
    pub failures: f64,
    /// Requests that the shadow sent to both sides.
    pub pairs: f64,
    /// Pairs that the shadow judged.
    pub compared: f64,
    /// How the split assigns requests.
    pub assigned: Assignment,
}

/// How long each step takes. Ends after the first step that never ends, which is `None`.
pub fn lengths(
    gates: &Gates,
    pace: &Pace,
    steps: &[Share],
    hold: Duration,
) -> Vec<Option<Duration>> {
    played(gates, pace, steps, hold, LONGEST.max(2 * hold))
}

/// As [`lengths`], but a step that takes longer than `at_most` counts as one that never ends.
fn played(
    gates: &Gates,
    pace: &Pace,
    steps: &[Share],
    hold: Duration,
    at_most: Duration,
) -> Vec<Option<Duration>> {
    let seconds = gates.block.as_secs_f64();
    let mut trial = Trial::new(gates, steps.len()).without_bands();
    let mut lengths = Vec::new();
    for share in steps {
        let new = pace.requests * f64::from(*share) / 100.0;
        let enough = |after: f64| {
            let has = |(gate, rate): (&str, f64)| rate * after >= least(gates, gate);
            [("comparisons", pace.compared), ("requests", new)].into_iter().all(has)
        };
        // Each step begins at 0: only the times within it count.
        trial.moved(0.0);
        let mut after = 0.0;
        let length = loop {
            after += seconds;
            trial.add(&interval(pace, new, after, seconds), gates, pace.assigned);
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

/// The number that a standard gate waits for; 0 if it does not wait for one.
fn least(gates: &Gates, name: &str) -> f64 {
    let counts = |gate: &&Gate| {
        gate.name == name && gate.otherwise == Consequence::Wait && gate.window == Window::Step
    };
    match gates.all.iter().find(counts).map(|gate| &gate.limit) {
        Some(Limit::Number(least)) => *least,
        _ => 0.0,
    }
}

/// The most careful steps that end within `time`, and how long to hold each. Steps with the lowest shares need the most
/// time, so they are left out first. `None` if not even the last step alone ends in time.
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
    // Bisects between these two. Ten halvings are precise enough for a time that people type.
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
