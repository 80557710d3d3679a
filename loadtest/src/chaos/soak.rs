//! Faults in turn, again and again, under clients that ask as fast as they are answered.
//!
//! [`super::play`] decodes every picture of a moderate load and asks nothing twice. Here millions of requests are made,
//! so only some pictures are decoded; and a client that is told to come again later (503 or 429 with `Retry-After`)
//! does. A request is lost if it then still has no picture.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::Serialize;
use stack::Part;

use super::{FAULTS, Fault, Place, Plan, play_and_check};
use crate::check::is_picture_of;
use crate::client::{Flow, Running, Sample, start};
use crate::sampling;

/// Clients. They keep one Node process busy without reaching the bound of its fallback for long.
const CLIENTS: usize = 16;
/// One of so many pictures is decoded.
const DECODED: u64 = 250;
/// How often a client comes again.
const TRIES: u32 = 30;
/// After each fault the clients go on for so long, as fast as the stack answers. During most faults the old
/// side sets the pace.
const REST: Duration = Duration::from_secs(30);
/// Memory may be so much above that of the first rounds, as a ratio and in bytes.
const FLAT: (f64, f64) = (1.25, 4e6);
const TARGET: &str = "/qrcode?text=";

/// What all clients saw so far.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Tally {
    /// Requests with a picture, or lost.
    pub requests: u64,
    /// Requests without a picture, by the reason and the fault at that time.
    pub lost: BTreeMap<String, u64>,
    /// Pictures that were decoded.
    pub decoded: u64,
    /// Pictures of another text.
    pub wrong: u64,
    /// The same, while a release draws wrong pictures.
    pub wrong_by_fault: u64,
    /// Requests sent again, since their kept connection had been closed.
    pub asked_again: u64,
    /// Answers that told the client to come again.
    pub told_to_wait: u64,
    /// Longest time from sending to the last byte, in seconds.
    pub slowest_seconds: f64,
}

/// All faults, once.
#[derive(Clone, Debug, Serialize)]
pub struct Round {
    /// Since the beginning, in seconds.
    pub seconds: f64,
    /// What clients saw since the beginning.
    pub tally: Tally,
    /// Resident memory of each part at the end, its processes together.
    pub memory_bytes: BTreeMap<&'static str, u64>,
}

/// The report of a soak.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Soaked {
    /// The rounds.
    pub rounds: Vec<Round>,
    /// What should not have been; empty if all is well.
    pub complaints: Vec<String>,
}

/// Plays all faults in turn until so many requests have been made and each has been played once; the last round may
/// be cut short. `told` gets the report so far after each round.
///
/// # Errors
/// If the stack does not start, or a fault cannot be undone. One that cannot be played is a complaint.
pub fn soak(
    requests: u64,
    plan: &Plan,
    mut told: impl FnMut(&Soaked) -> anyhow::Result<()>,
) -> anyhow::Result<Soaked> {
    let place = Place::start(plan)?;
    let clients = Arc::new(Mutex::new(Clients::default()));
    let asks = Arc::clone(&clients);
    let running = start(Flow {
        connections: CLIENTS,
        keeps_bodies: true,
        ..Flow::new(place.stack.settings().addresses.proxy, f64::INFINITY, move |number| {
            locked(&asks).next(number)
        })
    })?;
    let (began, mut report, mut not_played) = (Instant::now(), Soaked::default(), Vec::new());
    while report.rounds.last().is_none_or(|round| round.tally.requests < requests) {
        for fault in &FAULTS {
            if !report.rounds.is_empty() && locked(&clients).tally.requests >= requests {
                break;
            }
            locked(&clients).fault = Some(fault);
            let played = thread::scope(|scope| {
                let playing = scope.spawn(|| play_and_check(fault, &place));
                count_until(|| playing.is_finished(), &running, &clients);
                playing.join().unwrap_or_else(|_| Err(anyhow::anyhow!("it panicked")))
            });
            if let Err(why) = played {
                not_played.push(format!("{}: {why:#}", fault.name));
                place.undo().context(fault.name)?;
            }
            let rested = Instant::now() + REST;
            count_until(|| Instant::now() > rested, &running, &clients);
        }
        report.rounds.push(Round {
            seconds: began.elapsed().as_secs_f64(),
            tally: locked(&clients).tally.clone(),
            memory_bytes: memory(&place)?,
        });
        report.complaints = [not_played.clone(), complaints(&report.rounds)].concat();
        told(&report)?;
    }
    Ok(report)
}

fn count_until(is_over: impl Fn() -> bool, running: &Running, clients: &Mutex<Clients>) {
    while !is_over() {
        running.take().into_iter().for_each(|sample| locked(clients).count(sample));
        thread::sleep(Duration::from_millis(100));
    }
}

fn locked(clients: &Mutex<Clients>) -> MutexGuard<'_, Clients> {
    clients.lock().unwrap_or_else(PoisonError::into_inner)
}

fn memory(place: &Place) -> anyhow::Result<BTreeMap<&'static str, u64>> {
    let of = |part: &Part| {
        let root = place.stack.pid_of(*part)?.as_raw_nonzero().get();
        Ok((part.name(), sampling::memory(&[root]).rss_bytes))
    };
    Part::ALL.iter().map(of).collect()
}

pub(crate) fn complaints(rounds: &[Round]) -> Vec<String> {
    let Some(last) = rounds.last() else { return Vec::new() };
    let mut complaints: Vec<String> =
        last.tally.lost.iter().map(|(why, count)| format!("{count} lost: {why}")).collect();
    if last.tally.wrong > 0 {
        complaints.push(format!("{} wrong pictures", last.tally.wrong));
    }
    // Caches and pools fill in the first round.
    for (part, now) in &last.memory_bytes {
        let Some(then) = rounds.get(1).and_then(|round| round.memory_bytes.get(part)) else {
            continue;
        };
        if *now as f64 > FLAT.0 * *then as f64 + FLAT.1 {
            complaints.push(format!("{part} grew from {then} to {now} bytes"));
        }
    }
    complaints
}

#[derive(Default)]
struct Clients {
    tally: Tally,
    /// The fault that is being played, or was the last.
    fault: Option<&'static Fault>,
    /// Targets that are asked again, and when.
    later: Vec<(Instant, String)>,
    /// How often targets were asked that have no picture yet.
    tries: BTreeMap<String, u32>,
}

impl Clients {
    /// The target of the next request.
    fn next(&mut self, number: u64) -> String {
        let now = Instant::now();
        let due = self.later.iter().position(|(when, _)| *when <= now);
        due.map_or_else(
            || format!("{TARGET}https://example.com/soak/{number}"),
            |at| self.later.swap_remove(at).1,
        )
    }

    fn count(&mut self, sample: Sample) {
        let tally = &mut self.tally;
        tally.asked_again += u64::from(sample.asked_again);
        tally.slowest_seconds = tally.slowest_seconds.max(sample.took.as_secs_f64());
        let tries = self.tries.remove(&sample.target).unwrap_or(0) + 1;
        if let (false, Ok(seconds)) = (sample.status == 200, sample.retry_after.parse())
            && tries < TRIES
        {
            tally.told_to_wait += 1;
            self.later.push((Instant::now() + Duration::from_secs(seconds), sample.target.clone()));
            self.tries.insert(sample.target, tries);
            return;
        }
        tally.requests += 1;
        let is_whole = sample.body.starts_with(b"\x89PNG\r\n\x1a\n")
            && sample.body.ends_with(b"IEND\xae\x42\x60\x82");
        if sample.status != 200 || !is_whole {
            let fault = self.fault.map_or("no fault", |fault| fault.name);
            let why = if sample.status == 0 { sample.error } else { sample.status.to_string() };
            *tally.lost.entry(format!("{why}, {fault}")).or_default() += 1;
        } else if sample.number.is_multiple_of(DECODED) {
            tally.decoded += 1;
            if is_picture_of(&sample.body, &sample.target[TARGET.len()..]).is_err() {
                let by_fault = self.fault.is_some_and(|fault| fault.draws_wrong);
                *(if by_fault { &mut tally.wrong_by_fault } else { &mut tally.wrong }) += 1;
            }
        }
    }
}
