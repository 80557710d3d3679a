//! The contract of `GET /qrcode` as a suite that can be run against any base URL.
//!
//! The cases are data (`cases/*.json`). [`run`] sends each over a connection of its own, exactly as
//! it is written, and checks what comes back; images are decoded by a decoder that belongs to
//! neither implementation. [`decode`] is of use by itself.

pub mod case;
mod check;
pub mod decode;
mod image;
pub mod report;
mod wire;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

pub use case::Case;
pub use report::{Outcome, Report};
pub use wire::Target;

/// What to leave out, and how many at once.
#[derive(Clone, Debug)]
pub struct Options {
    /// The service runs `QR_ENGINE=reference`: size and modules of its pictures are its own.
    pub reference_engine: bool,
    /// Cases under way at once, at least 1.
    pub concurrency: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { reference_engine: false, concurrency: 8 }
    }
}

/// Checks every case; outcomes are in the order of the cases.
pub fn run(target: &Target, cases: &[Case], options: &Options) -> Report {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(vec![None; cases.len()]);
    std::thread::scope(|scope| {
        for _ in 0..options.concurrency.max(1) {
            scope.spawn(|| {
                while let Some((i, case)) = {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    cases.get(i).map(|case| (i, case))
                } {
                    let outcome = check::check(target, case, options);
                    outcomes.lock().unwrap_or_else(PoisonError::into_inner)[i] = Some(outcome);
                }
            });
        }
    });
    let outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    Report { base: target.to_string(), outcomes: outcomes.into_iter().flatten().collect() }
}
