//! `edge` reads the access log of the nginx beside it, serves metrics per route and side, and writes the log's lines
//! as JSON.
//!
//! [`follow`] reads the log on a thread of its own, [`mod@line`] parses it, [`counts`] counts it. [`print`] writes what
//! is counted on another thread, [`json`] makes it, and [`log_file`] bounds the file, if it is one. [`status`] asks nginx
//! how many requests it has counted, and [`loss`] compares. [`progress`] is what these share with [`metrics`];
//! [`position`] keeps it over a restart.

mod config;
mod counts;
mod follow;
mod json;
mod line;
mod log_file;
mod loss;
mod metrics;
mod position;
mod print;
mod progress;
mod service;
mod status;

use std::process::ExitCode;

use anstream::eprintln;
use anyhow::Context;
use config::{Arguments, Config};

// docs/adr/0007-allocator.md says why.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let config = Config::from(service_kit::arguments::parse::<Arguments>());
    let outcome = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(1) // looks up the status' host name
        .enable_all()
        .build()
        .context("cannot start the runtime")
        .and_then(|runtime| runtime.block_on(service::run(config)));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("edge: {error:#}");
            ExitCode::FAILURE
        }
    }
}
