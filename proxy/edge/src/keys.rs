//! What the keys of a split got, for a split by key: a key that comes again fails again, so a run counts keys, each
//! once, instead of requests (`evidence::keys`).
//!
//! nginx logs a hash of the key, never the key. This program remembers [`MOST_KEYS`] of a route until it ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use strum::EnumCount;

use crate::line::{Arm, Code, Line};
use crate::outages::Attempt;

/// The most keys of a route. Further ones are not counted as keys; they take 80 bytes each.
const MOST_KEYS: usize = 200_000;
/// The length of a slot, and in how many slots in a row an event must be most of what a key gets to make it odd. A
/// restart, or a pause after failures, is over within two. What a key got before does not count, since a key that has
/// moved has no past on its new side.
const SLOT_MS: u64 = 5000;
const SLOTS: u8 = 3;

/// The events: a failed attempt, and the classes of a side's own answers that send a client away.
pub(crate) const EVENTS: [&str; 3] = ["5xx", "3xx", "4xx"];

fn event(line: &Line<'_>) -> Option<usize> {
    match Code::of(line.status) {
        _ if line.attempt() == Attempt::Failed => Some(0),
        Code::Redirection => Some(1),
        Code::ClientError => Some(2),
        _ => None,
    }
}

/// One event of a key.
#[derive(Clone, Copy, Debug, Default)]
struct Event {
    /// The requests with it in this slot.
    requests: u32,
    /// The slots before this one in which it was most of what the key got.
    slots: u8,
    /// The arm on which this made the key odd.
    odd_on: Option<Arm>,
}

/// A key, with its requests in its last slot.
#[derive(Clone, Copy, Debug)]
struct Key {
    arm: Arm,
    slot: u64,
    requests: u32,
    events: [Event; EVENTS.len()],
    has_failed: bool,
}

impl Key {
    fn is_most(&self, event: Event) -> bool {
        event.requests > 0 && 2 * u64::from(event.requests) >= u64::from(self.requests)
    }

    /// Begins a slot. A line of an earlier slot, which comes later from another worker, counts in the present one.
    fn begin(&mut self, slot: u64) {
        for at in 0..EVENTS.len() {
            let event = self.events[at];
            let slots = if self.is_most(event) { event.slots.saturating_add(1) } else { 0 };
            self.events[at] = Event { requests: 0, slots, ..event };
        }
        (self.slot, self.requests) = (slot, 0);
    }
}

/// The counters of a route's keys, indexed by arm.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    table: Arc<Mutex<HashMap<u64, Key>>>, // not copied for a scrape
    /// Keys that came for the first time.
    pub(crate) seen: [u64; Arm::COUNT],
    /// Keys whose requests another arm had before.
    pub(crate) moved: [u64; Arm::COUNT],
    /// Keys that failed for the first time.
    pub(crate) failed: [u64; Arm::COUNT],
    /// Failures of keys that the old side failed before, most of the time.
    pub(crate) known_failures: [u64; Arm::COUNT],
    /// Keys that most of the time got an event, by event.
    pub(crate) odd: [[u64; EVENTS.len()]; Arm::COUNT],
}

impl Keys {
    pub(crate) fn count(&mut self, line: &Line<'_>) {
        let Some(key) = line.key else { return };
        if !matches!(line.arm, Arm::New | Arm::Old) || line.attempt() == Attempt::None {
            return;
        }
        let (arm, table) = (line.arm as usize, Arc::clone(&self.table));
        let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
        if table.len() >= MOST_KEYS && !table.contains_key(&key) {
            return;
        }
        let slot = line.ended_ms / SLOT_MS;
        let new =
            Key { arm: line.arm, slot, requests: 0, events: Default::default(), has_failed: false };
        let key = table.entry(key).or_insert_with(|| {
            self.seen[arm] += 1;
            new
        });
        if key.arm != line.arm {
            self.moved[arm] += 1;
            let events = key.events.map(|it| Event { odd_on: it.odd_on, ..Event::default() });
            *key = Key { events, has_failed: key.has_failed, ..new };
        }
        if slot > key.slot {
            key.begin(slot);
        }
        key.requests = key.requests.saturating_add(1);
        let Some(which) = event(line) else { return };
        if which == 0 {
            self.failed[arm] += u64::from(!std::mem::replace(&mut key.has_failed, true));
            self.known_failures[arm] += u64::from(key.events[0].odd_on == Some(Arm::Old));
        }
        key.events[which].requests += 1;
        let event = key.events[which];
        if event.odd_on.is_none() && event.slots + 1 >= SLOTS && key.is_most(event) {
            key.events[which].odd_on = Some(line.arm);
            self.odd[arm][which] += 1;
        }
    }
}

#[cfg(test)]
mod tests;
