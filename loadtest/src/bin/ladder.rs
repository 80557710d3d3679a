//! The ladder: measures servers in rows, one after the other, and writes a table.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anstream::println;
use anyhow::Context;
use clap::{Parser, Subcommand};
use loadtest::servers::cores::Cores;
use loadtest::servers::ladder::climb;
use loadtest::servers::plan::Plan;
use loadtest::servers::report::Report;
use loadtest::servers::rows::Group;
use loadtest::servers::{allow_all_files, repository, svg, wrk};
use qr_bench::files::{write, write_json};
use service_kit::arguments::{exit_code, parse};

/// Measures the servers of a group, one after the other, and writes a table.
#[derive(Parser)]
#[command(name = "ladder")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// What is measured
    #[arg(long, value_enum, default_value = "qrcode")]
    group: Group,
    /// Only these rows, separated by commas; of qrcode also node and static
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// The rungs in these languages, separated by commas, and qr-service; all: --group languages
    #[arg(long, value_delimiter = ',', conflicts_with_all = ["group", "only"])]
    language: Vec<String>,
    /// One short round
    #[arg(long)]
    quick: bool,
    /// Rounds over all rows [default: 3; 1 with --quick, and for instructions, which do not vary]
    #[arg(long)]
    rounds: Option<usize>,
    /// Concurrent connections
    #[arg(long, default_value_t = 100)]
    connections: usize,
    /// Cores of the servers
    #[arg(long, default_value = "0")]
    server_cores: Cores,
    /// Cores of the clients; if the servers use them too, compare rows by their CPU time
    #[arg(long, default_value = "1")]
    load_cores: Cores,
    /// Folder of the reports
    #[arg(long, default_value = "target/ladder")]
    out: PathBuf,
}

#[derive(Subcommand)]
enum Command {
    /// Write the last report's table and picture into docs/choosing-a-rung.md
    Page,
}

fn main() -> ExitCode {
    exit_code("ladder", run(&parse()).map(|()| ExitCode::SUCCESS), 1)
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let (group, only) = match &arguments.language[..] {
        [] => (arguments.group, &arguments.only),
        _ => (Group::Languages, &arguments.language),
    };
    if let Some(Command::Page) = arguments.command {
        return write_page(&arguments.out);
    }
    let rows = group.chosen(only)?;
    if ![Group::Relay, Group::Nginx].contains(&group) {
        wrk::check_installed()?;
    }
    // Enough for 1,000 connections, here and in the servers, which inherit the limit.
    allow_all_files()?;
    arguments.load_cores.keep_to()?;
    let Arguments { quick, rounds, connections, .. } = *arguments;
    let cores = [arguments.server_cores.clone(), arguments.load_cores.clone()];
    let plan = Plan::new(group, quick, rounds, connections, cores);
    let climbed = climb(&rows, &plan, |row| only.iter().any(|name| name == row.name))?;
    let report = Report::new(&climbed, &plan);
    let file = |ending| arguments.out.join(format!("{}.{ending}", group.name()));
    write_json(&file("json"), &report)?;
    let text = report.markdown();
    write(&file("md"), &text)?;
    println!("{text}\n{}", file("md").display());
    Ok(())
}

/// Keeps the last run's figures in docs/ladder.json, and writes what the page shows of them.
fn write_page(out: &Path) -> anyhow::Result<()> {
    let json = out.join("qrcode.json");
    let report = Report::read(&json).context("run make ladder first")?;
    let docs = repository().join("docs");
    let file = docs.join(Report::PAGE);
    let page = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    write(&file, &report.into_page(&page)?)?;
    write_json(&docs.join(Report::KEPT), &report)?;
    write(&docs.join(Report::PICTURE), &svg::picture(&report))
}
