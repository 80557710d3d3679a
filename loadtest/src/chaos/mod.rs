//! Plays faults under load, one after the other, and records what clients see.

mod faults;
mod place;
pub mod soak;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
pub use faults::{FAULTS, Fault, Pictures};
pub use place::{OWN_MOUNTS, Place, Plan};
use serde::Serialize;

use crate::check::is_picture_of;
use crate::client::{Connections, Flow, Recording, Sample, record};

/// More than the requests that hang while a part is stopped.
const CONNECTIONS: usize = 64;
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
    let requests = record(Flow {
        server: place.stack.settings().addresses.proxy,
        rate: plan.rate,
        // Until the faults are over.
        lasts: Duration::from_secs(1 << 24),
        connections: Connections::Kept(CONNECTIONS),
        patience: Duration::from_secs(20),
        target: Box::new(|number| format!("/qrcode?text={}", text_of(number))),
    })?;
    std::thread::sleep(SETTLE);
    requests.take_until(Instant::now())?; // the first requests open connections
    let mut all = Vec::new();
    for fault in faults {
        let seen = play_one(fault, &place, &requests).context(fault.name)?;
        told(&seen);
        all.push(seen);
    }
    Ok(all)
}

fn text_of(number: u64) -> String {
    format!("https://example.com/chaos/{number}")
}

fn play_one(fault: &Fault, place: &Place, requests: &Recording) -> anyhow::Result<Seen> {
    play_and_check(fault, place)?;
    std::thread::sleep(SETTLE);
    Ok(sum_up(fault, &requests.take_until(Instant::now())?))
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

fn sum_up(fault: &Fault, requests: &[Sample]) -> Seen {
    let mut seen = Seen { fault: fault.name, requests: requests.len(), ..Seen::default() };
    let mut reasons = Vec::new();
    for request in requests {
        seen.slowest_seconds = seen.slowest_seconds.max(request.took.as_secs_f64());
        match request.status {
            0 => {
                seen.failed += 1;
                reasons.push(String::from_utf8_lossy(&request.body).into_owned());
            }
            200 => match is_picture_of(&request.body, &text_of(request.number)) {
                Ok(()) => {
                    *seen.served.entry(request.served_by.clone()).or_default() += 1;
                    seen.asked_again += usize::from(request.asked_again);
                }
                Err(why) => {
                    seen.wrong_pictures += 1;
                    if fault.pictures == Pictures::Right {
                        reasons.push(why.to_string());
                    }
                }
            },
            status => *seen.statuses.entry(status).or_default() += 1,
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
