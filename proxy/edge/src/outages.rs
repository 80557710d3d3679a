//! Outages of a side: the time from five failed attempts in a row until an answered one.
//!
//! nginx pauses a side after three failures, which happens again and again if only one in a hundred requests times out.
//! So refused requests do not show that the side was out of service, but failures without an answer between them do.
//!
//! Each worker of nginx writes its lines once a second, so the lines are not in order of time. They are counted in time
//! slots by the time at which they ended, and a slot is evaluated once no earlier line can follow.

/// The number of failures in a row that make an outage. A restart causes six: three failures at each of two listings.
const IN_A_ROW: u32 = 5;
const SLOT_MS: u64 = 10;
/// How late a line may come, in slots. A worker buffers lines for up to a second.
const LATE: u64 = 300;
const SLOTS: u64 = 512;

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// The side answered with another status than 5xx.
    Answered,
    /// The side did not answer, or answered with a 5xx.
    Failed,
    /// The side was not asked, or the client left before it answered.
    None,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    answered: u32,
    failed: u32,
}

/// The outages of one side.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outages {
    pub(crate) count: u64,
    /// The time out of service, in milliseconds.
    pub(crate) ms: u64,
    /// A ring of slots; empty before the first line.
    slots: Vec<Slot>,
    /// The first slot that has not been evaluated.
    next: u64,
    in_a_row: u32,
    first_in_a_row: u64,
    /// During an outage, the slot up to which its time is already in `ms`.
    since: Option<u64>,
}

impl Outages {
    pub(crate) fn take(&mut self, ended_ms: u64, attempt: Attempt) {
        let slot = ended_ms / SLOT_MS;
        if self.slots.is_empty() {
            self.slots = vec![Slot::default(); SLOTS as usize];
            self.next = slot.saturating_sub(LATE);
        }
        if slot < self.next {
            return;
        }
        self.look_until((slot + 1).saturating_sub(LATE));
        let at = &mut self.slots[(slot % SLOTS) as usize];
        match attempt {
            Attempt::Answered => at.answered += 1,
            Attempt::Failed => at.failed += 1,
            Attempt::None => {}
        }
    }

    /// Evaluates the slots before `end`. Slots beyond the ring's length are empty.
    fn look_until(&mut self, end: u64) {
        for at in self.next..end.min(self.next + SLOTS) {
            let slot = std::mem::take(&mut self.slots[(at % SLOTS) as usize]);
            self.look(at, slot);
        }
        self.next = self.next.max(end);
        if let Some(since) = &mut self.since {
            self.ms += (self.next - *since) * SLOT_MS;
            *since = self.next;
        }
    }

    fn look(&mut self, at: u64, slot: Slot) {
        if slot.answered > 0 {
            self.in_a_row = 0;
            if let Some(since) = self.since.take() {
                self.ms += at.saturating_sub(since) * SLOT_MS;
            }
        }
        if slot.failed > 0 {
            if self.in_a_row == 0 {
                self.first_in_a_row = at;
            }
            self.in_a_row = self.in_a_row.saturating_add(slot.failed);
            if self.in_a_row >= IN_A_ROW && self.since.is_none() {
                self.count += 1;
                self.since = Some(self.first_in_a_row);
            }
        }
    }
}

#[cfg(test)]
mod tests;
