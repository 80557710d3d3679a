//! Plays faults under load, one after the other, and records what clients see.
//!
//! [`FAULTS`] are played on one stack under a steady load. Each of [`STORMS`] has its own stack, clients that do not
//! wait for each other, and limits on what they may see. [`soak`] plays the faults under millions of requests.

mod faults;
mod place;
mod slow;
pub(crate) mod soak;
mod storms;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use carve::local::http;
pub use faults::{FAULTS, Fault};
pub use place::OWN_MOUNTS;
use place::Place;
use rollout::Share;
use serde::Serialize;
pub use soak::soak;
pub use storms::{STORMS, Storm};

use crate::client::{Flow, Running, Sample, quantile, start};
use crate::servers::check::is_picture_of;

/// More than the requests that hang while a part is stopped.
const CONNECTIONS: usize = 64;
/// Pause after each fault, so that late requests count for the fault that delayed them.
const SETTLE: Duration = Duration::from_secs(1);

/// How long, how often and how hard faults are played.
#[derive(Clone, Debug)]
pub struct Plan {
    rate: f64,
    /// The new side's share before and after each fault.
    share: Share,
    mirror: Share,
    /// Changes of the split, each with a reload.
    splits: usize,
    restarts: usize,
    /// How long a part is stopped.
    stopped: Duration,
    /// The steps of ramps are too short for the standard proofs.
    has_short_steps: bool,
    hold: Duration,
    /// How long the fault of a storm lasts; nginx notices a side that hangs after 3 s.
    storm: Duration,
    slack: f64,
    programs: PathBuf,
}

impl Plan {
    /// A plan with `rate` requests per second during the faults. Latency limits of storms are multiplied by `slack`: 1
    /// to measure, more for a machine that does other work at the same time. The programs are those in this program's
    /// folder. Fails if this program has no folder.
    pub fn new(rate: f64, slack: f64, is_quick: bool, is_soak: bool) -> anyhow::Result<Self> {
        let here = std::env::current_exe()?;
        // A soak plays each fault many times.
        let quick = is_quick || is_soak;
        let seconds = |full, short| Duration::from_secs(if quick { short } else { full });
        Ok(Plan {
            rate,
            // The old side has a share in a soak too, but does not set its pace.
            share: if is_soak { "99.8".parse()? } else { Share::percent(50)? },
            // With little traffic, mirror more, or ramp waits for comparisons.
            mirror: Share::percent(if is_soak { 10 } else { 50 })?,
            splits: if quick { 6 } else { 30 },
            restarts: if quick { 1 } else { 3 },
            stopped: seconds(10, 3),
            has_short_steps: quick,
            hold: seconds(30, 8),
            storm: seconds(15, 8),
            slack,
            programs: here.parent().context("no folder of this program")?.to_owned(),
        })
    }
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

    /// Notes a count, which has to be zero.
    fn none(&mut self, name: &str, count: usize) {
        self.count(name, count, count == 0);
    }

    /// Notes a count, which must not be zero.
    fn some(&mut self, name: &str, count: usize) {
        self.count(name, count, count > 0);
    }

    fn count(&mut self, name: &str, count: usize, is_well: bool) {
        self.figure(name, count as f64);
        if !is_well {
            self.complaints.push(format!("{name}: {count}"));
        }
    }
}

/// Starts a stack and plays `faults` on it under load. Fails if the stack does not start, a fault cannot be played or
/// undone, or leaves another split behind. What clients should not have seen is a complaint in the report, not an
/// error.
pub fn play(faults: &[&Fault], plan: &Plan, mut told: impl FnMut(Report)) -> anyhow::Result<()> {
    let place = Place::start(plan)?;
    let requests = clients(&place, plan.rate, CONNECTIONS, 1)?;
    std::thread::sleep(SETTLE);
    requests.take_until(Instant::now())?; // the first requests open connections
    for fault in faults {
        told(play_one(fault, &place, &requests).context(fault.name)?);
    }
    Ok(())
}

/// Starts clients that request pictures, over at most `most` connections; one in `keeps_every` pictures is kept, and
/// decoded later.
fn clients(place: &Place, rate: f64, most: usize, keeps_every: u64) -> anyhow::Result<Running> {
    let target = |number| format!("/qrcode?text={}", text_of(number));
    let server = place.stack.settings().addresses.proxy;
    start(Flow { connections: most, keeps_every, ..Flow::new(server, rate, target) })
}

fn text_of(number: u64) -> String {
    format!("https://example.com/chaos/{number}")
}

fn play_one(fault: &Fault, place: &Place, requests: &Running) -> anyhow::Result<Report> {
    play_and_check(fault, place)?;
    std::thread::sleep(SETTLE);
    let requests = requests.take_until(Instant::now())?;
    let report = Report::new(fault.name, &place.plan);
    Ok(sum_up(report, fault, &requests, &place.stack.url()))
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

fn sum_up(mut report: Report, fault: &Fault, requests: &[Sample], url: &str) -> Report {
    let count = |is: &dyn Fn(&Sample) -> bool| requests.iter().filter(|it| is(it)).count();
    report.some("requests", requests.len());
    report.none("without an answer", count(&|it| it.status == 0));
    // A client that is told to come again does so.
    let is_told = |it: &Sample| [429, 503].contains(&it.status) && !it.retry_after.is_empty();
    report.none("not 200", count(&|it| ![0, 200].contains(&it.status) && !is_told(it)));
    report.figure("told to come again", count(&is_told) as f64);
    let client = http::client(Duration::from_secs(20));
    let comes_again = |it: &Sample| {
        let url = format!("{url}/qrcode?text={}", text_of(it.number));
        http::get(&client, &url, &[]).is_ok_and(|answer| answer.status == 200)
    };
    report.none("not 200 then", count(&|it| is_told(it) && !comes_again(it)));
    let is_kept = |it: &Sample| it.status == 200 && !it.body.is_empty();
    report.figure("decoded", count(&is_kept) as f64);
    let is_wrong =
        |it: &Sample| is_kept(it) && is_picture_of(&it.body, &text_of(it.number)).is_err();
    match count(&is_wrong) {
        wrong if fault.draws_wrong => report.figure("wrong pictures", wrong as f64),
        wrong => report.none("wrong pictures", wrong),
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
