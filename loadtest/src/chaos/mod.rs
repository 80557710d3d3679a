//! Plays faults under load, one after the other, and records what clients see.

pub mod client;
mod faults;
mod place;
pub mod soak;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use client::{Outcome, Request, Requests};
pub use faults::{FAULTS, Fault, Pictures};
pub use place::{OWN_MOUNTS, Place, Plan};
use serde::Serialize;

/// Pause after each fault, so that late requests count for the fault that delayed them.
const SETTLE: Duration = Duration::from_secs(1);

/// What clients saw of a fault.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Seen {
    /// The fault's name.
    pub fault: &'static str,
    /// Requests due while it lasted.
    pub requests: usize,
    /// Answers that were not 200, by status.
    pub statuses: BTreeMap<u16, usize>,
    /// Requests without an answer.
    pub failed: usize,
    /// Answers without the right picture.
    pub wrong_pictures: usize,
    /// Requests answered on the second attempt, since their kept connection had been closed.
    pub asked_again: usize,
    /// Longest latency in seconds, from the time the request was due.
    pub slowest_seconds: f64,
    /// Right pictures, by the program that served them.
    pub served: BTreeMap<String, usize>,
    /// What clients should not have seen; empty if all is well.
    pub complaints: Vec<String>,
}

/// Starts a stack and plays `faults` on it under load.
///
/// # Errors
/// If the stack does not start, a fault cannot be played or undone, or leaves another split behind.
/// What clients should not have seen is no error but a complaint.
pub fn play(
    faults: &[&Fault],
    plan: &Plan,
    mut told: impl FnMut(&Seen),
) -> anyhow::Result<Vec<Seen>> {
    let place = Place::start(plan)?;
    let url = place.stack.url();
    client::with_load(&url, plan.rate, |requests| {
        std::thread::sleep(SETTLE);
        requests.take_until(Instant::now()); // the first requests open connections
        let mut all = Vec::new();
        for fault in faults {
            let seen = play_one(fault, &place, requests).context(fault.name)?;
            told(&seen);
            all.push(seen);
        }
        Ok(all)
    })
}

fn play_one(fault: &Fault, place: &Place, requests: &Requests) -> anyhow::Result<Seen> {
    play_and_check(fault, place)?;
    std::thread::sleep(SETTLE);
    Ok(sum_up(fault, &requests.take_until(Instant::now())))
}

/// Plays a fault. On return both sides serve, and the split is as before.
fn play_and_check(fault: &Fault, place: &Place) -> anyhow::Result<()> {
    let before = place.split()?;
    (fault.play)(place)?;
    place.wait_until_both_serve()?;
    let after = place.split()?;
    ensure!(before.share_percent == after.share_percent, "the split is {after:?}, not {before:?}");
    Ok(())
}

fn sum_up(fault: &Fault, requests: &[Request]) -> Seen {
    let mut seen = Seen { fault: fault.name, requests: requests.len(), ..Seen::default() };
    let mut reasons = Vec::new();
    for request in requests {
        seen.slowest_seconds = seen.slowest_seconds.max(request.took.as_secs_f64());
        match &request.outcome {
            Outcome::Served(by) => {
                *seen.served.entry(by.clone()).or_default() += 1;
                seen.asked_again += usize::from(request.asked_again);
            }
            Outcome::Status(status) => *seen.statuses.entry(*status).or_default() += 1,
            Outcome::WrongPicture(why) => {
                seen.wrong_pictures += 1;
                if fault.pictures == Pictures::Right {
                    reasons.push(why.clone());
                }
            }
            Outcome::Failed(why) => {
                seen.failed += 1;
                reasons.push(why.clone());
            }
        }
    }
    seen.complaints.extend(seen.statuses.iter().map(|(status, n)| format!("{n} x {status}")));
    reasons.sort();
    reasons.dedup();
    seen.complaints.append(&mut reasons);
    if seen.requests == 0 {
        seen.complaints.push("no request was made".to_owned());
    }
    seen
}
