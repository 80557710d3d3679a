//! Days that go wrong: a side that hangs or is gone under load, and clients that hold connections.
//!
//! Each part starts a stack of its own, sends requests at fixed rates ([`crate::client`]), plays its fault,
//! and compares what clients saw with its bounds. `make chaos` plays all; the tests play shorter ones.

mod parts;
mod slow;

use std::path::PathBuf;
use std::time::Duration;

pub use parts::PARTS;
use serde::Serialize;
pub use slow::SlowClients;

/// How long and how hard.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How long each fault lasts; at least 8 s, since nginx notices a side that hangs after 3 s.
    pub fault: Duration,
    /// Requests of the route per second while the new side is away.
    pub storm: f64,
    /// Slow connections at once.
    pub slow: usize,
    /// What the limits of latency are multiplied by: 1 to measure, more for a machine that does other
    /// work at the same time.
    pub slack: f64,
    /// qr-service's binary; those of shadow and edge are beside it.
    pub qr_service: PathBuf,
}

/// A part.
#[derive(Clone, Copy)]
pub struct Part {
    /// Its name in tables.
    pub name: &'static str,
    /// Plays it.
    pub play: fn(&Plan) -> anyhow::Result<Report>,
}

/// What clients saw.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    #[serde(skip)]
    slack: f64,
    /// Figures and their units, in the order in which they were taken.
    pub figures: Vec<(String, f64)>,
    /// What clients should not have seen; empty if all is well.
    pub complaints: Vec<String>,
}

impl Report {
    fn of(plan: &Plan) -> Self {
        Report { slack: plan.slack, figures: Vec::new(), complaints: Vec::new() }
    }

    fn figure(&mut self, name: &str, value: f64) {
        self.figures.push((name.to_owned(), value));
    }

    /// Notes a latency, and complains if it is not below the limit.
    fn below(&mut self, name: &str, took: Duration, limit: Duration) {
        self.figure(&format!("{name}, ms"), took.as_secs_f64() * 1e3);
        let limit = limit.mul_f64(self.slack);
        if took >= limit {
            self.complaints.push(format!("{name}: {took:?}, not below {limit:?}"));
        }
    }

    /// Notes a count, and complains if it is not zero.
    fn none(&mut self, name: &str, count: usize) {
        self.figure(name, count as f64);
        if count > 0 {
            self.complaints.push(format!("{name}: {count}"));
        }
    }

    /// Notes a count, and complains if it is zero.
    fn some(&mut self, name: &str, count: usize) {
        self.figure(name, count as f64);
        if count == 0 {
            self.complaints.push(format!("{name}: none"));
        }
    }
}
