//! `shadow` sends the same request to both sides and compares their answers.
//!
//! [`service`] takes the requests that the proxy mirrors, answers 204 at once and compares later,
//! within its limits. [`offline`] compares the answers to each line of a file. [`verdict`] has the
//! rules of a comparison and the names of its results.

mod app;
mod asked;
mod budget;
mod client;
mod comparison;
mod config;
mod metrics;
mod offline;
mod pairs;
mod queue;
mod record;
mod routes;
mod service;
mod side;
mod unix;
mod verdict;

use std::fmt;
use std::process::ExitCode;

use anstream::eprintln;
use anyhow::Context;
use config::{Arguments, Task};
use service_kit::arguments::USAGE;

// docs/adr/0007-allocator.md says why.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let outcome = match service_kit::arguments::parse::<Arguments>().check() {
        Ok(Task::Service(config)) => runtime(config.pace.concurrency)
            .and_then(|runtime| runtime.block_on(service::run(*config)))
            .map(|()| ExitCode::SUCCESS),
        Ok(Task::Compare(options)) => {
            return compare(&options).unwrap_or_else(|error| fail(offline::TROUBLE, &error));
        }
        Err(error) => return fail(USAGE, &error),
    };
    outcome.unwrap_or_else(|error| fail(1, &error))
}

fn fail(code: u8, error: &dyn fmt::Display) -> ExitCode {
    eprintln!("shadow: {error:#}");
    ExitCode::from(code)
}

/// One thread sends requests and measures times; each comparison under way decodes on a thread of
/// its own.
fn runtime(concurrency: usize) -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        // One more, to look up host names.
        .max_blocking_threads(concurrency + 1)
        .enable_all()
        .build()
        .context("cannot start the runtime")
}

/// Compares, prints the report, and returns its exit code.
fn compare(options: &offline::Options) -> anyhow::Result<ExitCode> {
    let lines = options.read()?;
    let report = runtime(1)?.block_on(offline::compare(options, &lines));
    report.print(options.json)?;
    Ok(ExitCode::from(report.exit_code()))
}
