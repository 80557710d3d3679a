//! Plays faults under load, one after the other, and records what clients see.
//!
//! [`FAULTS`] are played on one stack under a steady load. Each of [`STORMS`] has a stack of its own, clients that do not
//! wait for each other, and bounds on what they may see. [`soak`] plays the faults under millions of requests.

mod faults;
mod place;
mod slow;
pub mod soak;
mod storms;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
pub use faults::{FAULTS, Fault};
pub use place::{OWN_MOUNTS, Place};
use ramp::Share;
use serde::Serialize;
pub use storms::{STORMS, Storm};

use crate::check::is_picture_of;
use crate::client::{Flow, Running, Sample, quantile, start};

/// More than the requests that hang while a part is stopped.
const CONNECTIONS: usize = 64;
/// Pause after each fault, so that late requests count for the fault that delayed them.
const SETTLE: Duration = Duration::from_secs(1);

/// How long, how often and how hard faults are played.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Requests per second beside the faults.
    pub rate: f64,
    /// The new side's share before and after each fault.
    pub share: Share,
    /// The share of the requests that nginx mirrors to the shadow.
    pub mirror: Share,
    /// Changes of the split, each with a reload.
    pub splits: usize,
    /// How often a part is restarted.
    pub restarts: usize,
    /// How long a part is stopped.
    pub stopped: Duration,
    /// Whether the steps of ramps are too short for the standard proofs.
    pub has_short_steps: bool,
    /// How long each step of a ramp is held.
    pub hold: Duration,
    /// How long the fault of a storm lasts; at least 8 s, since nginx notices a side that hangs after 3 s.
    pub storm: Duration,
    /// What a storm's limits of latency are multiplied by: 1 to measure, more for a machine that does other work at the
    /// same time.
    pub slack: f64,
    /// Folder of the programs: qr-service, its example with faults, shadow, edge, ramp and the relay's.
    pub programs: PathBuf,
}

/// What clients saw of a fault.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The fault.
    pub name: &'static str,
    /// Figures with their units, in the order in which they were taken.
    pub figures: Vec<(String, f64)>,
    /// What clients should not have seen; empty if all is well.
    pub complaints: Vec<String>,
    #[serde(skip)]
    slack: f64,
}

impl Report {
    fn new(name: &'static str, plan: &Plan) -> Self {
        Report { name, figures: Vec::new(), complaints: Vec::new(), slack: plan.slack }
    }

    fn figure(&mut self, name: &str, value: f64) {
        self.figures.push((name.to_owned(), value));
    }

    /// Notes a latency, and complains if it is not below the limit.
    fn below(&mut self, name: &str, took: Duration, limit: Duration) {
        self.figure(&format!("{name}, ms"), took.as_secs_f64() * 1e3);
        let limit = limit.mul_f64(self.slack);
        if took >= limit {
            self.complaints.push(format!("{name}: {took:?}, not below {limit:?}"));
        }
    }

    /// Notes a count, and complains if it is not zero.
    fn none(&mut self, name: &str, count: usize) {
        self.figure(name, count as f64);
        if count > 0 {
            self.complaints.push(format!("{name}: {count}"));
        }
    }

    /// Notes a count, and complains if it is zero.
    fn some(&mut self, name: &str, count: usize) {
        self.figure(name, count as f64);
        if count == 0 {
            self.complaints.push(format!("{name}: none"));
        }
    }
}

/// Starts a stack and plays `faults` on it under load.
///
/// # Errors
/// If the stack does not start, a fault cannot be played or undone, or leaves another split behind.
/// What clients should not have seen is no error but a complaint.
pub fn play(faults: &[&Fault], plan: &Plan, mut told: impl FnMut(Report)) -> anyhow::Result<()> {
    let place = Place::start(plan)?;
    let target = |number| format!("/qrcode?text={}", text_of(number));
    let requests = start(Flow {
        connections: CONNECTIONS,
        keeps_bodies: true,
        ..Flow::new(place.stack.settings().addresses.proxy, plan.rate, target)
    })?;
    std::thread::sleep(SETTLE);
    requests.take_until(Instant::now())?; // the first requests open connections
    for fault in faults {
        told(play_one(fault, &place, &requests).context(fault.name)?);
    }
    Ok(())
}

fn text_of(number: u64) -> String {
    format!("https://example.com/chaos/{number}")
}

fn play_one(fault: &Fault, place: &Place, requests: &Running) -> anyhow::Result<Report> {
    play_and_check(fault, place)?;
    std::thread::sleep(SETTLE);
    let requests = requests.take_until(Instant::now())?;
    Ok(sum_up(Report::new(fault.name, &place.plan), fault, &requests))
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

fn sum_up(mut report: Report, fault: &Fault, requests: &[Sample]) -> Report {
    let count = |is: &dyn Fn(&Sample) -> bool| requests.iter().filter(|it| is(it)).count();
    let is_wrong =
        |it: &Sample| it.status == 200 && is_picture_of(&it.body, &text_of(it.number)).is_err();
    report.some("requests", requests.len());
    report.none("without an answer", count(&|it| it.status == 0));
    report.none("neither 200 nor without an answer", count(&|it| ![0, 200].contains(&it.status)));
    let wrong = count(&is_wrong);
    if fault.draws_wrong {
        report.figure("wrong pictures", wrong as f64);
    } else {
        report.none("wrong pictures", wrong);
    }
    report.figure("asked again", count(&|it| it.asked_again) as f64);
    report.figure("slowest, ms", 1e3 * quantile(requests, 1.0).as_secs_f64());
    for side in ["qr-service", "legacy-node"] {
        report.figure(&format!("served by {side}"), count(&|it| it.served_by == side) as f64);
    }
    let mut reasons: Vec<&str> = requests.iter().map(|it| it.error.as_str()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    report.complaints.extend(reasons.into_iter().filter(|why| !why.is_empty()).map(str::to_owned));
    report
}
