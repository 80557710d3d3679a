//! Faults in turn, again and again, under clients that ask as fast as they are answered.
//!
//! [`super::play`] decodes every picture of a moderate load and asks nothing twice. Here millions of
//! requests are made, so only some pictures are decoded; and a client that is told to come again later
//! (503 or 429 with `Retry-After`) does. A request is lost if it then still has no picture.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::Serialize;
use stack::{Part, http};
use ureq::Agent;

use super::{FAULTS, Fault, Pictures, Place, Plan, play_and_check};
use crate::check::is_picture_of;
use crate::sampling;

/// Clients. They keep one Node process busy without reaching the bound of its fallback for long.
const CLIENTS: usize = 16;
const TIMEOUT: Duration = Duration::from_secs(20);
/// One of so many pictures is decoded.
const DECODED: u64 = 250;
/// How often a client comes again.
const TRIES: u32 = 30;
/// After each fault the clients go on for so long, as fast as the stack answers. During most faults the old
/// side sets the pace.
const REST: Duration = Duration::from_secs(30);
/// Memory may be so much above that of the first rounds, as a ratio and in bytes.
const FLAT: (f64, f64) = (1.25, 4e6);

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
    /// Longest time from sending to the last byte, in seconds, without the waits that a client was told.
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
#[derive(Clone, Debug, Serialize)]
pub struct Report {
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
    mut told: impl FnMut(&Report) -> anyhow::Result<()>,
) -> anyhow::Result<Report> {
    let place = Place::start(plan)?;
    let load = Load { url: place.stack.url(), ..Load::default() };
    thread::scope(|scope| {
        let _ends = EndsLoad(&load);
        for number in 0..CLIENTS {
            let load = &load;
            scope.spawn(move || load.run(number as u64));
        }
        let began = Instant::now();
        let mut report = Report { rounds: Vec::new(), complaints: Vec::new() };
        let mut not_played = Vec::new();
        while report.rounds.last().is_none_or(|round| round.tally.requests < requests) {
            for fault in &FAULTS {
                if !report.rounds.is_empty() && load.tally().requests >= requests {
                    break;
                }
                if let Err(why) = load.play(fault, &place) {
                    not_played.push(format!("{}: {why:#}", fault.name));
                    place.undo().context(fault.name)?;
                }
                thread::sleep(REST);
            }
            let round = Round {
                seconds: began.elapsed().as_secs_f64(),
                tally: load.tally(),
                memory_bytes: memory(&place)?,
            };
            report.rounds.push(round);
            report.complaints = not_played.clone();
            report.complaints.append(&mut complaints(&report.rounds));
            told(&report)?;
        }
        Ok(report)
    })
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
struct Load {
    url: String,
    over: AtomicBool,
    draws_wrong: AtomicBool,
    /// The fault that is being played, or was the last.
    fault: Mutex<&'static str>,
    tally: Mutex<Tally>,
}

struct EndsLoad<'a>(&'a Load);

impl Drop for EndsLoad<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
    }
}

impl Load {
    fn tally(&self) -> Tally {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn play(&self, fault: &Fault, place: &Place) -> anyhow::Result<()> {
        self.draws_wrong.store(fault.pictures == Pictures::WrongForAWhile, Ordering::Relaxed);
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = fault.name;
        let played = play_and_check(fault, place);
        self.draws_wrong.store(false, Ordering::Relaxed);
        played
    }

    fn run(&self, client: u64) {
        let mut agent = http::client(TIMEOUT);
        for number in 0.. {
            if self.over.load(Ordering::Relaxed) {
                return;
            }
            let mut seen = Tally { requests: 1, ..Tally::default() };
            let text = format!("https://example.com/soak/{client}/{number}");
            let drew_wrong = self.draws_wrong.load(Ordering::Relaxed);
            match self.ask(&mut agent, &text, &mut seen) {
                Err(why) => {
                    let fault = *self.fault.lock().unwrap_or_else(PoisonError::into_inner);
                    *seen.lost.entry(format!("{why}, {fault}")).or_default() += 1;
                }
                Ok(png) if number % DECODED == 0 => {
                    seen.decoded += 1;
                    if is_picture_of(&png, &text).is_err() {
                        let by_fault = drew_wrong || self.draws_wrong.load(Ordering::Relaxed);
                        *(if by_fault { &mut seen.wrong_by_fault } else { &mut seen.wrong }) += 1;
                    }
                }
                Ok(_) => {}
            }
            self.tally.lock().unwrap_or_else(PoisonError::into_inner).add(seen);
        }
    }

    /// A whole PNG for this text, or why there is none.
    fn ask(&self, agent: &mut Agent, text: &str, seen: &mut Tally) -> Result<Vec<u8>, String> {
        let url = format!("{}/qrcode?text={text}", self.url);
        let mut last = String::new();
        for _ in 0..TRIES {
            let sent = Instant::now();
            let mut answer = http::get(agent, &url, &[]);
            if answer.as_ref().is_err_and(http::is_closed) {
                *agent = http::client(TIMEOUT);
                seen.asked_again += 1;
                answer = http::get(agent, &url, &[]);
            }
            let answer = answer.map_err(|error| error.to_string())?;
            seen.slowest_seconds = seen.slowest_seconds.max(sent.elapsed().as_secs_f64());
            if answer.status == 200 {
                let whole = answer.body.starts_with(b"\x89PNG\r\n\x1a\n")
                    && answer.body.ends_with(b"IEND\xae\x42\x60\x82");
                return if whole { Ok(answer.body) } else { Err("no whole PNG".to_owned()) };
            }
            last = answer.status.to_string();
            let Ok(seconds) = answer.header("retry-after").parse() else { return Err(last) };
            seen.told_to_wait += 1;
            thread::sleep(Duration::from_secs(seconds));
        }
        Err(format!("{last}, {TRIES} times"))
    }
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.requests += other.requests;
        for (why, count) in other.lost {
            *self.lost.entry(why).or_default() += count;
        }
        self.decoded += other.decoded;
        self.wrong += other.wrong;
        self.wrong_by_fault += other.wrong_by_fault;
        self.asked_again += other.asked_again;
        self.told_to_wait += other.told_to_wait;
        self.slowest_seconds = self.slowest_seconds.max(other.slowest_seconds);
    }
}
