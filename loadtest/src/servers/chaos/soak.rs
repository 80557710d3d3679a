//! Plays all faults again and again, under clients that send requests as fast as they are answered.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::{FAULTS, Place, Plan, Report, clients, play_one};
use crate::servers::sampling;

/// Number of clients: enough to keep one Node process busy, without reaching its fallback's limit for long.
const CLIENTS: usize = 16;
/// One in this many pictures is decoded.
const DECODED: u64 = 250;
/// After each fault the clients go on for this long; what they see then counts for the next fault. During most faults
/// the old side limits the rate.
const REST: Duration = Duration::from_secs(30);
/// How much memory may grow after the second round, as a ratio and in bytes.
const FLAT: (f64, f64) = (1.25, 4e6);

/// Memory (PSS) of each part, its processes together.
pub(crate) type PartsMemory = BTreeMap<String, u64>;

/// Plays all faults in turn until `requests` have been made and each fault has been played at least once. `told` gets a
/// report per fault, and after each round one with the memory of the parts. Fails if the stack does not start, or a
/// fault cannot be played or undone.
pub fn soak(requests: u64, plan: &Plan, mut told: impl FnMut(Report)) -> anyhow::Result<()> {
    let place = Place::start(plan)?;
    let running = clients(&place, f64::INFINITY, CLIENTS, DECODED)?;
    let (began, mut made, mut rounds) = (Instant::now(), 0.0, Vec::new());
    while rounds.is_empty() || made < requests as f64 {
        for fault in &FAULTS {
            let report = play_one(fault, &place, &running).context(fault.name)?;
            made += report.figures.first().map_or(0.0, |(_, requests)| *requests);
            told(report);
            thread::sleep(REST);
        }
        let memory = |part: String| {
            let root = place.stack.supervisor.pid_of(&part)?.as_raw_nonzero().get();
            Ok((part, sampling::memory(&[root])))
        };
        let parts = place.stack.settings().parts()?.into_iter();
        rounds.push(parts.map(memory).collect::<anyhow::Result<PartsMemory>>()?);
        let mut round = Report::new("a round is over", plan);
        round.figure("requests so far", made);
        round.figure("seconds so far", began.elapsed().as_secs_f64());
        for (part, bytes) in rounds.last().into_iter().flatten() {
            round.figure(&format!("{part}, MB"), *bytes as f64 / 1e6);
        }
        round.complaints = grown(&rounds);
        told(round);
    }
    Ok(())
}

/// The parts whose memory grows. Caches and pools fill in the first round.
pub(crate) fn grown(rounds: &[PartsMemory]) -> Vec<String> {
    let (Some(then), Some(last)) = (rounds.get(1), rounds.last()) else { return Vec::new() };
    let parts = last.iter().filter_map(|(part, now)| Some((part, then.get(part)?, now)));
    let grown = parts.filter(|(_, then, now)| **now as f64 > FLAT.0 * **then as f64 + FLAT.1);
    grown.map(|(part, then, now)| format!("{part} grew from {then} to {now} bytes")).collect()
}
