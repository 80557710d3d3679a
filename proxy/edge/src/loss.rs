//! Estimates how many requests nginx counted that never became a line.
//!
//! At a moment t, nginx has ended E = requests - open. If N is the number of lines whose request ended by t, then
//!
//! > E - N = C + lost
//!
//! for a constant C: the requests before the first line that this program counts. N is known once the log was read to
//! its end at least [`LAG`] later. A line has the time at which its worker last looked at the clock, some milliseconds
//! before the request ended. So lines in N may have ended after nginx counted E, and E - N is at most C + lost, and equal
//! to it if no request ended in these milliseconds. Of [`WINDOW`] readings in a row, the highest is the best:
//!
//! - C is the lowest of these values so far: lines without a request, as those of an nginx that was replaced, hide no
//!   later losses.
//! - lost is at least their difference from C. It only grows.
//!
//! So the losses of the first readings stay hidden, and later ones show one by one, also under steady traffic. The error
//! is the requests of those milliseconds by which every reading of a window was late, and none of a later one.
//!
//! If nginx restarts, it counts from 0; if the clock is set back, lines are later than the readings. Then the readings
//! begin anew, and the losses so far are kept. Requests that were open when a worker crashed stay hidden until nginx
//! restarts.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// A request that ended this long ago has its line in the log. nginx flushes after 1 s; the rest is a margin for busy
/// workers.
pub(crate) const LAG: Duration = Duration::from_secs(10);
/// Of how many readings in a row, at one per second, the highest is trusted.
const WINDOW: usize = 10;
/// The most readings that wait for lines.
const MAX_READINGS: usize = 60;
/// The most milliseconds with lines that are remembered, if no reading sums them up.
const MAX_TIMES: usize = 60_000;
/// How far the clock may fall back between two readings.
const SET_BACK_MS: u64 = 100;

/// The counters of `stub_status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StubStatus {
    /// When nginx' answer had arrived, and the time of the clock, in milliseconds since 1970.
    pub(crate) at: Instant,
    pub(crate) at_ms: u64,
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

/// The lines by the millisecond in which their request ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    lines: BTreeMap<u64, u64>,
    /// The lines of earlier times.
    summed: u64,
}

impl Ends {
    pub(crate) fn add(&mut self, ended_ms: u64) {
        *self.lines.entry(ended_ms).or_default() += 1;
        if self.lines.len() > MAX_TIMES {
            self.until(ended_ms.saturating_sub(MAX_TIMES as u64 / 2));
        }
    }

    /// The lines of requests that ended by this time. Forgets their times.
    pub(crate) fn until(&mut self, ms: u64) -> u64 {
        let later = self.lines.split_off(&(ms + 1));
        self.summed += std::mem::replace(&mut self.lines, later).into_values().sum::<u64>();
        self.summed
    }
}

/// The estimate. It gets all its input as arguments, so it can be tested without nginx.
#[derive(Debug, Default)]
pub(crate) struct Loss {
    last: Option<StubStatus>,
    readings: VecDeque<StubStatus>,
    /// E - N at the last readings whose lines are known.
    window: VecDeque<i64>,
    base: Option<i64>,
    lost: u64,
    /// Requests lost before the readings last began anew.
    lost_before: u64,
}

impl Loss {
    /// Adds a reading. `read_to_end_at` is when the log was last read to its end, before it; `until` gives the number of
    /// lines whose request ended by a time. Returns the number of requests known to be lost.
    pub(crate) fn observe(
        &mut self,
        reading: StubStatus,
        read_to_end_at: Option<Instant>,
        mut until: impl FnMut(u64) -> u64,
    ) -> u64 {
        let is_set_back = |last: StubStatus| {
            let passed = reading.at.saturating_duration_since(last.at).as_millis() as u64;
            reading.at_ms + SET_BACK_MS < last.at_ms + passed
        };
        if self.last.is_some_and(|last| reading.requests < last.requests || is_set_back(last)) {
            self.restart();
        }
        self.last = Some(reading);
        if self.readings.len() == MAX_READINGS {
            self.readings.pop_front();
        }
        self.readings.push_back(reading);
        let is_settled = |it: &StubStatus| read_to_end_at.is_some_and(|read| it.at + LAG <= read);
        while let Some(settled) = self.readings.front().copied().filter(is_settled) {
            self.readings.pop_front();
            let ended = settled.requests.cast_signed() - settled.open.cast_signed();
            self.settle(ended - until(settled.at_ms).cast_signed());
        }
        self.lost_before + self.lost
    }

    fn settle(&mut self, difference: i64) {
        if self.window.len() == WINDOW {
            self.window.pop_front();
        }
        self.window.push_back(difference);
        if self.window.len() == WINDOW {
            let highest = self.window.iter().copied().max().unwrap_or(difference);
            let base = self.base.map_or(highest, |base| base.min(highest));
            self.base = Some(base);
            self.lost = self.lost.max(u64::try_from(highest - base).unwrap_or(0));
        }
    }

    /// Begins anew, because nginx has restarted.
    pub(crate) fn restart(&mut self) {
        let lost = self.lost_before + self.lost;
        *self = Loss { lost_before: lost, ..Loss::default() };
    }
}

#[cfg(test)]
mod tests;
