//! The ladder: measures every way to serve `/qrcode`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anstream::println;
use anyhow::{Context, bail, ensure};
use clap::{Parser, Subcommand};
use loadtest::ladder::{Plan, climb};
use loadtest::report::{Report, html, markdown, svg};
use loadtest::rows::{BASELINE, CEILING, ROWS, Row};
use loadtest::server::Cores;
use loadtest::{exit_code, load, write, write_json};
use stack::settings::repository;

/// Measures every way to serve /qrcode, one after the other, and writes a report.
#[derive(Parser)]
#[command(name = "ladder")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// One short round: under three minutes
    #[arg(long)]
    quick: bool,
    /// Rounds over all rows [default: 3, with --quick 1]
    #[arg(long)]
    rounds: Option<usize>,
    /// Only these rows, separated by commas, and node and static
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Concurrent connections
    #[arg(long, default_value_t = 100)]
    connections: usize,
    /// Cores of the servers
    #[arg(long, default_value = "0")]
    server_cores: Cores,
    /// Cores of the load generators
    #[arg(long, default_value = "1")]
    load_cores: Cores,
    /// Folder of the report
    #[arg(long, default_value = "target/ladder")]
    out: PathBuf,
}

#[derive(Subcommand)]
enum Command {
    /// Write the last report's table and picture into the README
    Readme,
}

fn main() -> ExitCode {
    exit_code("ladder", run(&service_kit::arguments::parse()).map(|()| ExitCode::SUCCESS))
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(Command::Readme) = arguments.command {
        return write_readme(&arguments.out);
    }
    ensure!(
        !arguments.server_cores.overlaps(&arguments.load_cores),
        "servers and load generators need different cores"
    );
    let rows = rows(&arguments.only)?;
    load::check_installed(&["wrk", "oha"])?;
    let plan = plan(arguments);
    arguments.load_cores.keep_to()?;
    let report = Report::new(&rows, &climb(&rows, &plan)?, &plan);
    write_json(&arguments.out.join("ladder.json"), &report)?;
    write(&arguments.out.join("ladder.md"), &markdown::full(&report))?;
    write(&arguments.out.join("ladder.html"), &html::page(&report))?;
    println!("{}", markdown::table(&report));
    println!("{}", arguments.out.join("ladder.html").display());
    Ok(())
}

fn rows(only: &[String]) -> anyhow::Result<Vec<Row>> {
    if let Some(name) = only.iter().find(|name| !ROWS.iter().any(|row| row.name == **name)) {
        let names = ROWS.map(|row| row.name).join(", ");
        bail!("--only {name:?}: the rows are {names}");
    }
    let wanted = |row: &Row| {
        only.is_empty()
            || [BASELINE, CEILING].contains(&row.name)
            || only.iter().any(|name| name == row.name)
    };
    Ok(ROWS.into_iter().filter(wanted).collect())
}

fn plan(arguments: &Arguments) -> Plan {
    let quick = arguments.quick;
    let seconds = |full, short| if quick { short } else { full };
    Plan {
        rounds: arguments.rounds.unwrap_or(if quick { 1 } else { 3 }).max(1),
        warm_up_seconds: seconds(2, 1),
        closed_seconds: seconds(6, 2),
        open_seconds: seconds(8, 2),
        connections: arguments.connections,
        server_cores: arguments.server_cores.clone(),
        load_cores: arguments.load_cores.clone(),
    }
}

fn write_readme(out: &Path) -> anyhow::Result<()> {
    let json = out.join("ladder.json");
    let text = fs::read_to_string(&json)
        .with_context(|| format!("{} (run make ladder first)", json.display()))?;
    let report: Report = serde_json::from_str(&text).with_context(|| json.display().to_string())?;
    let file = repository().join("README.md");
    let readme = fs::read_to_string(&file).context("README.md")?;
    write(&file, &markdown::into_readme(&readme, &report)?)?;
    write(&repository().join("docs/ladder.svg"), &svg::picture(&report, &[0, 1, 2]))
}
