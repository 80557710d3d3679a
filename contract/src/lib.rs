//! Checks any base URL against the contract of `GET /qrcode`.
//!
//! The cases are data (`cases/qrcode/*.json`). [`run`] sends each case exactly as written, on a new
//! connection, and checks the answer. [`decode`], from the crate `judge`, reads pictures with a decoder
//! that belongs to neither side; other crates use it too.

pub mod case;
mod check;
mod image;
pub mod relay;
pub mod report;
mod wire;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

pub use case::Case;
pub use judge::decode;
pub use report::{Outcome, Report};
pub use wire::Target;

/// How to run the cases.
#[derive(Clone, Debug)]
pub struct Options {
    /// The service runs with `QR_ENGINE=reference`: do not check size and modules.
    pub reference_engine: bool,
    /// The names that `X-Served-By` may have; if there are none, the header is not checked.
    pub served_by: Vec<String>,
    /// Cases under way at once, at least 1.
    pub concurrency: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { reference_engine: false, served_by: Vec::new(), concurrency: 8 }
    }
}

/// Runs every case. The outcomes are in the order of the cases.
pub fn run(target: &Target, cases: &[Case], options: &Options) -> Report {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(vec![None; cases.len()]);
    std::thread::scope(|scope| {
        for _ in 0..options.concurrency.max(1) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(i) else { break };
                    let outcome = check::check(target, case, options);
                    outcomes.lock().unwrap_or_else(PoisonError::into_inner)[i] = Some(outcome);
                }
            });
        }
    });
    let outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    Report { base: target.to_string(), outcomes: outcomes.into_iter().flatten().collect() }
}
