//! Servers that always answer the same, beside each other.

use std::path::PathBuf;
use std::process::ExitCode;

use anstream::println;
use anyhow::{bail, ensure};
use clap::Parser;
use loadtest::floors::{FLOORS, Floor, Plan, Report, measure, table};
use loadtest::server::Cores;
use loadtest::{exit_code, load, write, write_json};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Measures how fast servers answer that have nothing to do, one after the other.
#[derive(Parser)]
#[command(name = "floors")]
struct Arguments {
    /// Rounds over all rows
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of load per row, number of connections and round
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Numbers of concurrent connections, separated by commas
    #[arg(long, value_delimiter = ',', default_values_t = [1, 100, 1000])]
    connections: Vec<usize>,
    /// Only these rows, separated by commas
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// The core of the servers
    #[arg(long, default_value = "0")]
    server_core: Cores,
    /// The core of wrk
    #[arg(long, default_value = "1")]
    load_core: Cores,
    /// Folder of the table
    #[arg(long, default_value = "target/floors")]
    out: PathBuf,
}

fn main() -> ExitCode {
    exit_code("floors", run(&service_kit::arguments::parse()).map(|()| ExitCode::SUCCESS))
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let only = &arguments.only;
    if let Some(name) = only.iter().find(|name| !FLOORS.iter().any(|row| row.name == **name)) {
        let names: Vec<&str> = FLOORS.iter().map(|row| row.name).collect();
        bail!("--only {name:?}: the rows are {}", names.join(", "));
    }
    ensure!(
        !arguments.server_core.overlaps(&arguments.load_core),
        "--server-core and --load-core must differ"
    );
    ensure!(!arguments.connections.contains(&0), "--connections: each must be 1 or more");
    load::check_installed(&["wrk"])?;
    // For 1,000 connections, here and in the servers, which inherit it.
    let files = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: files, maximum: files })?;
    let wanted = |row: &&Floor| only.is_empty() || only.iter().any(|name| name == row.name);
    let rows: Vec<&'static Floor> = FLOORS.iter().filter(wanted).collect();
    let plan = Plan {
        rounds: arguments.rounds.max(1),
        seconds: arguments.seconds.max(1),
        connections: arguments.connections.clone(),
        server_core: arguments.server_core.clone(),
        load_core: arguments.load_core.clone(),
    };
    let report = Report::new(measure(&rows, &plan)?, &plan);
    write_json(&arguments.out.join("floors.json"), &report)?;
    let table = table(&report);
    write(&arguments.out.join("floors.md"), &table)?;
    println!("{table}\n{}", arguments.out.join("floors.md").display());
    Ok(())
}
