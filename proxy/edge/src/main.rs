//! `edge` reads the access log of the nginx beside it and serves metrics per route and side.
//!
//! [`follow`] reads the log on a thread of its own, [`mod@line`] parses it, [`counts`] counts it.
//! [`status`] asks nginx how many requests it has counted, and [`loss`] compares. [`progress`] is what
//! these share with [`metrics`]; [`position`] keeps it over a restart.
//!
//! `edge pipe PROGRAM` is another program in the same file: [`pipe`], with [`request`] for what it writes and
//! [`log_file`] for where.

mod config;
mod counts;
mod follow;
mod line;
mod log_file;
mod loss;
mod metrics;
mod pipe;
mod position;
mod progress;
mod request;
mod service;
mod status;

use std::path::Path;
use std::process::ExitCode;

use anstream::eprintln;
use anyhow::Context;
use config::{Arguments, Config};

// docs/adr/0007-allocator.md says why.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let outcome = match arguments.next() {
        Some(first) if first == "pipe" => Err(pipe::run(arguments)),
        Some(first) if first == pipe::COPY => {
            pipe::copy(arguments.next().as_deref().map(Path::new))
        }
        _ => serve(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("edge: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> anyhow::Result<()> {
    let config = Config::from(service_kit::arguments::parse::<Arguments>());
    tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(1) // looks up the status' host name
        .enable_all()
        .build()
        .context("cannot start the runtime")
        .and_then(|runtime| runtime.block_on(service::run(config)))
}
