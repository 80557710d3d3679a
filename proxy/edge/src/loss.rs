//! How many requests nginx counted that never became a line.
//!
//! nginx counts a request when it begins, and writes its line up to a second after it ends. So its
//! count and the lines never agree at one moment, and the difference also contains what happened
//! before this program started. [`Loss`] bounds both errors so that it never reports too much:
//!
//! - `ended` = requests - open, at one reading of `stub_status`. After [`LAG`], each of these requests
//!   must be a line. So `ended` at a reading, less the lines counted once the log has been read to its
//!   end at least [`LAG`] later, is at most *base* + lost.
//! - *base* is the requests from before the first reading that no counted line stands for. It is
//!   unknown, but at every reading it is at most requests - 1 - lines, if the lines were counted
//!   before the reading: each line's request is among the requests, and one more is the reading
//!   itself. The lowest of these bounds is the tightest.
//! - lost is at least the first less the second. It only grows: the highest value so far is reported.
//!
//! If nginx restarts, it counts from 0, so the readings and the base are forgotten and what is lost so
//! far is kept.
//!
//! The report is too low by what ended within [`LAG`] and by what was open or unwritten at the most
//! favourable readings. So a moment without traffic shows every loss, and under steady traffic as many
//! losses as requests in about 11 s stay hidden; all beyond them are reported. Requests that were open
//! when a worker crashed stay hidden until nginx restarts.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A request that ended this long ago has its line in the log. nginx flushes after 1 s; the rest is
/// for workers that are busy.
pub(crate) const LAG: Duration = Duration::from_secs(10);
/// Readings that are kept, at one per second. Only those of the last [`LAG`] are needed, unless the
/// log was not read to its end for longer.
const MAX_READINGS: usize = 60;

/// The counters of `stub_status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// When nginx had answered.
    pub(crate) at: Instant,
    pub(crate) requests: u64,
    /// Requests that have begun and not ended.
    pub(crate) open: u64,
}

/// The connections of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Connections {
    /// Accepted, and closed at once because there was no room.
    pub(crate) refused: u64,
    /// Open ones whose request is being read, whose answer is being made, and that are idle.
    pub(crate) reading: u64,
    pub(crate) writing: u64,
    pub(crate) waiting: u64,
}

/// The lines counted so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lines {
    pub(crate) count: u64,
    /// When there was last nothing more to read. All that was in the log by then is counted.
    pub(crate) read_to_end_at: Option<Instant>,
}

/// The rule. It knows only what it is given, so it can be tested without nginx.
#[derive(Debug, Default)]
pub(crate) struct Loss {
    readings: VecDeque<Reading>,
    last_requests: u64,
    base: Option<i64>,
    /// Lost since nginx started, and before that.
    lost: u64,
    lost_before: u64,
}

impl Loss {
    /// Takes one reading, and the lines as they were before it. Returns all that is known to be lost.
    pub(crate) fn observe(&mut self, reading: Reading, lines: Lines) -> u64 {
        if reading.requests < self.last_requests {
            self.restart();
        }
        self.last_requests = reading.requests;
        let count = lines.count.cast_signed();
        let bound = reading.requests.cast_signed() - 1 - count;
        let base = self.base.map_or(bound, |base| base.min(bound));
        self.base = Some(base);
        if self.readings.len() == MAX_READINGS {
            self.readings.pop_front();
        }
        self.readings.push_back(reading);
        if let Some(settled) = self.take_settled(lines.read_to_end_at) {
            let ended = settled.requests.cast_signed() - settled.open.cast_signed();
            let lost = u64::try_from(ended - count - base).unwrap_or(0);
            self.lost = self.lost.max(lost);
        }
        self.lost_before + self.lost
    }

    /// Begins anew, since nginx has restarted.
    pub(crate) fn restart(&mut self) {
        let lost = self.lost_before + self.lost;
        *self = Loss { lost_before: lost, ..Loss::default() };
    }

    /// The newest reading whose requests must all be lines. Forgets it and the ones before it.
    fn take_settled(&mut self, read_to_end_at: Option<Instant>) -> Option<Reading> {
        let read_to_end_at = read_to_end_at?;
        let is_settled = |reading: &Reading| reading.at + LAG <= read_to_end_at;
        let settled = self.readings.iter().take_while(|reading| is_settled(reading)).count();
        self.readings.drain(..settled).next_back()
    }
}

#[cfg(test)]
mod tests;
