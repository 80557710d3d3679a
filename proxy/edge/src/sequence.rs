//! Requests that never became a line, by the number that nginx gives to each request of a connection. It finds a single
//! missing line, where [`crate::loss`] needs some seconds of them, but not the last ones of a connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// How often gaps are looked at. Requests of an HTTP/2 connection do not end in order, so a gap counts once it is there
/// at two looks.
const PERIOD_MS: u64 = 20_000;
/// After this time without a line, a connection is forgotten.
const SILENT_MS: u64 = 60_000;
/// The most connections; beyond it, all are forgotten.
const MOST: usize = 100_000;

#[derive(Clone, Copy, Debug)]
struct Connection {
    first: u64,
    highest: u64,
    lines: u64,
    last_ms: u64,
    /// The gaps at the last look, and those that were counted.
    gaps: u64,
    counted: u64,
}

/// The connections with lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sequences {
    connections: Arc<Mutex<HashMap<u64, Connection>>>, // not copied for a scrape
    looked_ms: u64,
    pub(crate) missing: u64,
}

impl Sequences {
    pub(crate) fn count(&mut self, connection: u64, number: u64, ended_ms: u64) {
        let connections = Arc::clone(&self.connections);
        let mut connections = connections.lock().unwrap_or_else(PoisonError::into_inner);
        if connections.len() >= MOST {
            connections.clear();
        }
        let (first, last_ms) = (number, ended_ms);
        let new = Connection { first, highest: number, lines: 0, last_ms, gaps: 0, counted: 0 };
        let one = connections.entry(connection).or_insert(new);
        one.highest = one.highest.max(number);
        one.lines += 1;
        one.last_ms = ended_ms;
        if ended_ms >= self.looked_ms + PERIOD_MS {
            self.looked_ms = ended_ms;
            connections.retain(|_, one| {
                let gaps = (one.highest + 1).saturating_sub(one.first + one.lines);
                let lasting = gaps.min(one.gaps);
                self.missing += lasting.saturating_sub(one.counted);
                (one.gaps, one.counted) = (gaps, one.counted.max(lasting));
                ended_ms < one.last_ms + SILENT_MS
            });
        }
    }
}

#[cfg(test)]
mod tests;
