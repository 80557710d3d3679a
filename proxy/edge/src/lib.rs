//! Reads the access log of the nginx beside it, serves metrics per route and side, and writes the log's lines as JSON.
//!
//! `follow` reads the log on a thread of its own, `line` parses its lines, `counts` counts them, `cut` finds answers that
//! a side cut short, `keys` what the keys of a split got, and `outages` finds the sides' outages. `print` writes the
//! counted lines on another thread, `json` converts them, and [`log_file`] limits the size of an output file. `status`
//! asks nginx how many requests it has counted, and `loss` compares that with the lines. `progress` is the state that
//! these share with `metrics`; `position` stores it for a restart.

mod config;
mod counts;
mod cut;
mod follow;
mod json;
mod keys;
mod line;
pub mod log_file;
mod loss;
mod metrics;
mod outages;
mod position;
mod print;
mod progress;
mod service;
mod status;

use anyhow::Context;
pub use config::Arguments;

impl Arguments {
    /// Reads and prints the log and serves metrics until a signal ends it. Fails if it cannot listen or open the output
    /// file, or if the reader or the printer panics.
    pub fn run(self) -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.context("cannot start the runtime")?.block_on(service::run(self))
    }
}
