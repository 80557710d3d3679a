//! Estimates how many requests nginx counted that never became a line.
//!
//! nginx counts a request when it begins, and writes its line up to a second after it ends. So its
//! count and the lines never agree at one moment, and their difference also contains requests from
//! before this program started. [`Loss`] bounds both errors so that it never reports too much:
//!
//! - `ended` = requests - open, at one reading of `stub_status`. After [`LAG`], each of these requests
//!   must be a line. So `ended` at a reading, minus the lines counted once the log has been read to its
//!   end at least [`LAG`] later, is at most *base* + lost.
//! - *base* is the number of requests from before the first reading that have no counted line. It is
//!   unknown, but at every reading it is at most requests - 1 - lines, if the lines were counted
//!   before the reading: each line's request is among the requests, and the reading itself is one more.
//!   The lowest of these bounds is the tightest.
//! - lost is at least the first number minus the second. It only grows: the highest value so far is reported.
//!
//! If nginx restarts, it counts from 0, so the readings and the base are reset. The losses so far are kept.
//!
//! The report is too low by the requests that ended within [`LAG`], and by those that were open or unwritten
//! at the most favourable readings. So a moment without traffic reveals every loss. Under steady traffic, as
//! many losses as there are requests in about 11 s stay hidden, and all further ones are reported. Requests
//! that were open when a worker crashed stay hidden until nginx restarts.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A request that ended this long ago has its line in the log. nginx flushes after 1 s; the rest is a margin for busy
/// workers.
pub(crate) const LAG: Duration = Duration::from_secs(10);
/// The most readings that are kept, at one per second. Only those of the last [`LAG`] are needed, unless the log was
/// not read to its end for longer.
const MAX_READINGS: usize = 60;

/// The counters of `stub_status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StubStatus {
    /// When nginx' answer had arrived.
    pub(crate) at: Instant,
    pub(crate) requests: u64,
    /// Requests that have begun but not ended.
    pub(crate) open: u64,
}

/// The connections of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Connections {
    /// Connections that were accepted, but closed at once because there was no room.
    pub(crate) refused: u64,
    /// Open connections: while a request is read (`reading`), while an answer is sent (`writing`), or idle (`waiting`).
    pub(crate) reading: u64,
    pub(crate) writing: u64,
    pub(crate) waiting: u64,
}

/// The lines counted so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lines {
    pub(crate) count: u64,
    /// When the log was last read to its end. All lines in the log by then are counted.
    pub(crate) read_to_end_at: Option<Instant>,
}

/// The estimate. It gets all its input as arguments, so it can be tested without nginx.
#[derive(Debug, Default)]
pub(crate) struct Loss {
    readings: VecDeque<StubStatus>,
    last_requests: u64,
    base: Option<i64>,
    /// Requests lost since nginx started.
    lost: u64,
    /// Requests lost before nginx last started.
    lost_before: u64,
}

impl Loss {
    /// Adds a reading, with the lines as counted before it. Returns the number of requests known to be lost.
    pub(crate) fn observe(&mut self, reading: StubStatus, lines: Lines) -> u64 {
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

    /// Resets the readings and the base, because nginx has restarted.
    pub(crate) fn restart(&mut self) {
        let lost = self.lost_before + self.lost;
        *self = Loss { lost_before: lost, ..Loss::default() };
    }

    /// Removes and returns the newest reading whose ended requests must all be lines, and removes the ones before it.
    fn take_settled(&mut self, read_to_end_at: Option<Instant>) -> Option<StubStatus> {
        let read_to_end_at = read_to_end_at?;
        let is_settled = |reading: &StubStatus| reading.at + LAG <= read_to_end_at;
        let settled = self.readings.iter().take_while(|reading| is_settled(reading)).count();
        self.readings.drain(..settled).next_back()
    }
}

#[cfg(test)]
mod tests;
