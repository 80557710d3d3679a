//! Sends the same request to both sides and compares their answers.
//!
//! `service` accepts the requests that the proxy mirrors, answers 204 at once, and compares later within its limits.
//! `offline` compares the answers to each request of a file. `verdict` has the rules of a comparison and the names of
//! its results; [`judge`] decides whether two answers are the same.

mod app;
mod budget;
mod client;
mod comparison;
mod config;
mod content;
mod fields;
pub mod judge;
mod metrics;
mod mirrored;
mod name_counts;
mod offline;
mod pairs;
mod queue;
mod record;
mod result;
mod routes;
mod service;
#[cfg(feature = "tls")]
pub mod tls;
mod unix;

use anyhow::Context;
pub use config::Arguments;
pub use offline::Options;
pub use offline::report::{Form, Report};

impl Arguments {
    /// Runs the service until SIGTERM or SIGINT. Fails if a setting is not valid, a port cannot be bound or the
    /// comparisons stop by themselves.
    pub fn run(self) -> anyhow::Result<()> {
        let (client, routes) = self.check()?;
        let at_once = self.pace().concurrency * routes.len().max(1);
        runtime(at_once)?.block_on(service::run(self, client, routes))
    }
}

/// Compares the answers to each request of a file, one after the other. Fails if the file or the routes cannot be read.
pub fn compare(options: &Options) -> anyhow::Result<Report> {
    let (client, lines, skipped) = options.read()?;
    Ok(runtime(1)?.block_on(offline::compare(options, &client, &lines, skipped)))
}

/// One thread sends requests and measures times. Each comparison in progress decodes and judges on a thread of its own.
fn runtime(concurrency: usize) -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        // One more thread, for DNS.
        .max_blocking_threads(concurrency + 1)
        .enable_all()
        .build()
        .context("cannot start the runtime")
}
