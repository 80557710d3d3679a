//! Looks for keys on which clients wait on both sides: these halves never meet.
//!
//! Each side lists digests of the keys that wait (`GET /waiting` on its admin listener). The two lists are taken
//! one after the other, so a key counts only if two looks in a row find it on both sides.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::ask::answer;

/// Time between two looks.
const INTERVAL: Duration = Duration::from_secs(2);
/// Limits on a side's list, in time and bytes: a relay lets 10,000 keys wait, at 17 bytes each.
const LIMIT: Duration = Duration::from_secs(2);
const MAX_BYTES: u64 = 2 << 20;

/// Metrics of the looks.
#[derive(Clone, Debug, Default)]
pub(super) struct Counters {
    looks: Counter,
    stranded: Counter,
}

impl Counters {
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Times that the waiting keys of both sides were compared";
        registry.register("home_looks", help, self.looks.clone());
        let help = "Keys on which clients waited on both sides at once, for 2 s and more";
        registry.register("home_stranded_keys", help, self.stranded.clone());
    }
}

/// The keys that waited on both sides.
#[derive(Debug, Default)]
struct Found {
    once: HashSet<String>,
    counted: HashSet<String>,
}

impl Found {
    /// Takes the keys that one look found on both sides. Returns how many are newly stranded.
    fn look(&mut self, both: HashSet<String>) -> u64 {
        let stranded: HashSet<String> = both.intersection(&self.once).cloned().collect();
        let more = stranded.difference(&self.counted).count() as u64;
        self.once = both;
        self.counted = stranded;
        more
    }
}

/// Looks again and again. A look does not count if a side does not answer.
pub(super) async fn watch(old: SocketAddr, new: SocketAddr, counters: Counters) {
    let mut found = Found::default();
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let (Some(old), Some(new)) = tokio::join!(waiting(old), waiting(new)) {
            let stranded = found.look(old.intersection(&new).cloned().collect());
            counters.looks.inc();
            counters.stranded.inc_by(stranded);
            if stranded > 0 {
                tracing::error!(stranded, "clients wait for the same keys on both sides");
            }
        }
    }
}

async fn waiting(admin: SocketAddr) -> Option<HashSet<String>> {
    let answer =
        timeout(LIMIT, answer(admin, "/waiting", "", MAX_BYTES + 4096)).await.ok()?.ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let is_list = head.starts_with("HTTP/1.1 200 ") && body.len() as u64 <= MAX_BYTES;
    is_list.then(|| body.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests;
