//! Checks any base URL against the contract of the relay: scenarios of several connections each.

mod client;
mod flood;
mod play;
pub mod scenario;

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use scenario::{Scenario, all};

use crate::report::{Outcome, Report};
use crate::wire::Target;

/// Plays every scenario, `concurrency` at once. Behind a proxy, those that only hold without one are
/// left out. The outcomes are in the order of the scenarios.
pub fn run(target: &Target, scenarios: &[Scenario], concurrency: usize, proxied: bool) -> Report {
    let played: Vec<&Scenario> =
        scenarios.iter().filter(|scenario| !(proxied && scenario.direct_only)).collect();
    let next = AtomicUsize::new(0);
    let outcomes: Mutex<Vec<Option<Outcome>>> = Mutex::new(vec![None; played.len()]);
    std::thread::scope(|scope| {
        for _ in 0..concurrency.max(1) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(scenario) = played.get(i) else { break };
                    let outcome = play::play(target, scenario);
                    outcomes.lock().unwrap_or_else(PoisonError::into_inner)[i] = Some(outcome);
                }
            });
        }
    });
    let outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    Report { base: target.to_string(), outcomes: outcomes.into_iter().flatten().collect() }
}
