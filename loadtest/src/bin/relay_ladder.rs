//! The relays beside each other, and beside plain proxies.

use std::path::PathBuf;
use std::process::ExitCode;

use anstream::println;
use anyhow::bail;
use clap::Parser;
use loadtest::relay::report::{Report, markdown};
use loadtest::relay::servers::{ROWS, Row};
use loadtest::relay::{Plan, climb};
use loadtest::server::Cores;
use loadtest::{exit_code, write, write_json};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Measures relays: bytes per second of processor time, latency, memory.
#[derive(Parser)]
#[command(name = "relay_ladder")]
struct Arguments {
    /// Rounds over all rows
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of each transfer, about
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Only these rows, separated by commas
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Cores of the relay
    #[arg(long, default_value = "0")]
    server_cores: Cores,
    /// Folder of the report
    #[arg(long, default_value = "target/ladder")]
    out: PathBuf,
}

fn main() -> ExitCode {
    exit_code("relay_ladder", run(&service_kit::arguments::parse()).map(|()| ExitCode::SUCCESS))
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let only = &arguments.only;
    if let Some(name) = only.iter().find(|name| !ROWS.iter().any(|row| row.name == **name)) {
        bail!("--only {name:?}: the rows are {}", ROWS.map(|row| row.name).join(", "));
    }
    let wanted = |row: &Row| only.is_empty() || only.iter().any(|name| name == row.name);
    let rows: Vec<Row> = ROWS.into_iter().filter(wanted).collect();
    // For 1,000 pairs, here and in the relays, which inherit it.
    let files = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: files, maximum: files })?;
    let plan = Plan {
        rounds: arguments.rounds.max(1),
        seconds: arguments.seconds,
        server_cores: arguments.server_cores.clone(),
    };
    let report = Report::new(&rows, &climb(&rows, &plan)?, &plan);
    write_json(&arguments.out.join("relay.json"), &report)?;
    let tables = markdown(&report);
    write(&arguments.out.join("relay.md"), &tables)?;
    println!("{tables}\n{}", arguments.out.join("relay.md").display());
    Ok(())
}
