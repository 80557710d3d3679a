//! Measures the ways in which threads share connections: `make threads`.
//!
//! One row serves work of some 100 µs with a limit, a counter and a background task that all threads share, as
//! an article on hyper has it ([`served`]); the others are qr-service. `docs/adr/0016-threads.md` has the figures.

#![allow(clippy::print_stdout, reason = "a program")]

mod measured;
mod served;
mod table;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use service_kit::ServeMode;

/// Measures the ways in which threads share connections.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Loads servers with one thread and with more, in turn, by wrk; prints a table
    Measure(Measure),
    /// Serves work that takes a while
    Serve(Serve),
}

#[derive(clap::Args)]
struct Measure {
    /// qr-service's program; without it, only the work is measured
    #[arg(long)]
    qr_service: Option<PathBuf>,
    /// Rounds over all rows
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of load per row, number of connections and round
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Numbers of concurrent connections
    #[arg(long, value_delimiter = ',', default_values_t = [8, 100])]
    connections: Vec<usize>,
    /// Threads of the rows with several
    #[arg(long, default_value_t = 2)]
    threads: u16,
    /// The cores of the servers; those with one thread take the first
    #[arg(long, value_delimiter = ',', default_values_t = [0, 1])]
    server_cores: Vec<usize>,
    /// The cores of wrk
    #[arg(long, value_delimiter = ',', default_values_t = [1])]
    load_cores: Vec<usize>,
    /// wrk's nice value. Below 0, which needs root, it gets a core that it shares whenever it wants it, so that the
    /// server is the limit
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(i8).range(-20..=19))]
    load_nice: i8,
}

#[derive(clap::Args)]
struct Serve {
    /// Threads that serve
    #[arg(long, default_value_t = std::num::NonZeroU16::MIN)]
    threads: std::num::NonZeroU16,
    /// How they share connections
    #[arg(long, value_enum, default_value = "shared")]
    mode: ServeMode,
    /// Rounds of arithmetic per request: work is counted, not timed, or waiting would pass for it
    #[arg(long, default_value_t = 60_000)]
    work: u64,
    /// Requests at work at once; a further one is answered 503
    #[arg(long, default_value_t = 64)]
    limit: usize,
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Measure(measure) => measured::measure(&measure),
        Command::Serve(serve) => served::serve(&serve),
    }
}
