//! Checks any base URL against the contract of the relay: scenarios of several connections each.

mod client;
mod flood;
mod play;
pub mod scenario;

pub use scenario::{Scenario, all};

use crate::report::Report;
use crate::run::report;
use crate::wire::Target;

/// Plays every scenario, `concurrency` at once. With `proxied`, leaves out scenarios that only hold without a proxy.
/// The outcomes are in the order of the scenarios.
pub fn run(target: &Target, scenarios: &[Scenario], concurrency: usize, proxied: bool) -> Report {
    let played: Vec<&Scenario> =
        scenarios.iter().filter(|scenario| !(proxied && scenario.direct_only)).collect();
    report(target, &played, concurrency, |scenario| play::play(target, scenario))
}
