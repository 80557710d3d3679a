//! Servers that always answer the same, beside each other.

use std::path::PathBuf;
use std::process::ExitCode;

use anstream::{eprintln, println};
use anyhow::{bail, ensure};
use clap::Parser;
use loadtest::floors::{
    COLUMNS, Column, FLOORS, Floor, Plan, Report, compare, measure, page, table,
};
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
    /// Only these columns, separated by commas: documented, documented-timeouts, tuned, tuned-timeouts
    #[arg(long, value_delimiter = ',')]
    columns: Vec<Column>,
    /// The cores of the servers
    #[arg(long, default_value = "0")]
    server_core: Cores,
    /// The core of wrk
    #[arg(long, default_value = "1")]
    load_core: Cores,
    /// wrk may use the servers' cores; rows are then compared by their own CPU time
    #[arg(long)]
    shared: bool,
    /// Only compare the rows' answers
    #[arg(long)]
    check: bool,
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
        arguments.shared || !arguments.server_core.overlaps(&arguments.load_core),
        "--server-core and --load-core must differ, unless --shared"
    );
    ensure!(!arguments.connections.contains(&0), "--connections: each must be 1 or more");
    load::check_installed(&["wrk"])?;
    // For 1,000 connections, here and in the servers, which inherit it.
    let files = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: files, maximum: files })?;
    let named = |row: &Floor| only.iter().any(|name| name == row.name);
    let rows: Vec<&'static Floor> =
        FLOORS.iter().filter(|row| only.is_empty() || named(row)).collect();
    let plan = plan(arguments);
    let mut cells = compare(&rows, &plan, named)?;
    for line in &cells.left_out {
        eprintln!("left out: {line}");
    }
    if arguments.check {
        for cell in &cells.here {
            let other = cell.answer.other_lines.join(", ");
            let other = if other.is_empty() { "the same".to_owned() } else { other };
            let (name, column) = (cell.floor.name, cell.column.name());
            println!("{name:<13} {column:<20} {:>4} bytes  {other}", cell.answer.bytes);
        }
        return Ok(());
    }
    measure(&mut cells.here, &plan)?;
    let report = Report::new(cells, &plan);
    write_json(&arguments.out.join("floors.json"), &report)?;
    let table = table(&report);
    write(&arguments.out.join("floors.md"), &format!("# The floors\n\n{table}"))?;
    write(&arguments.out.join("floors.html"), &page(&report))?;
    println!("{table}\n{}", arguments.out.join("floors.html").display());
    Ok(())
}

fn plan(arguments: &Arguments) -> Plan {
    let columns = &arguments.columns;
    Plan {
        rounds: arguments.rounds.max(1),
        seconds: arguments.seconds.max(1),
        connections: arguments.connections.clone(),
        columns: if columns.is_empty() { COLUMNS.to_vec() } else { columns.clone() },
        server_cores: arguments.server_core.clone(),
        load_cores: arguments.load_core.clone(),
    }
}
