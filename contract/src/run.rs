//! Runs cases, several at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::case::Case;
use crate::check::{Options, check};
use crate::report::{Outcome, Report};
use crate::wire::Target;

/// Runs every case. The outcomes are in the order of the cases.
pub fn run(target: &Target, cases: &[Case], options: &Options) -> Report {
    report(target, cases, options.concurrency, |case| check(target, case, options))
}

/// Collects the outcome of each of `things`, `concurrency` at once, in their order.
pub(crate) fn report<T: Sync>(
    target: &Target,
    things: &[T],
    concurrency: usize,
    outcome_of: impl Fn(&T) -> Outcome + Sync,
) -> Report {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(vec![None; things.len()]);
    std::thread::scope(|scope| {
        for _ in 0..concurrency.max(1) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(thing) = things.get(i) else { break };
                    let outcome = outcome_of(thing);
                    outcomes.lock().unwrap_or_else(PoisonError::into_inner)[i] = Some(outcome);
                }
            });
        }
    });
    let outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    Report { base: target.to_string(), outcomes: outcomes.into_iter().flatten().collect() }
}
