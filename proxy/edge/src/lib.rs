//! Reads the access log of the nginx beside it, serves metrics per route and side, and writes the log's lines as JSON.
//!
//! `follow` reads the log on a thread of its own, `line` parses it, `counts` counts it, `outages` finds those of the
//! sides. `print` writes what is counted on another thread, `json` makes it, and [`log_file`] bounds the file, if it is
//! one. `status` asks nginx how many requests it has counted, and `loss` compares. `progress` is what these share with
//! `metrics`; `position` keeps it over a restart.

mod config;
mod counts;
mod follow;
mod json;
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

/// Reads and prints the log and serves metrics until a signal ends it. Fails if it cannot listen, or cannot read the
/// log any more.
pub fn run(arguments: Arguments) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")
        .and_then(|runtime| runtime.block_on(service::run(arguments)))
}
