//! Plays faults under load, one after the other, and prints what clients saw.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anstream::println;
use anyhow::{Context, bail};
use clap::Parser;
use loadtest::chaos::{FAULTS, Fault, Plan, Seen, play};
use loadtest::{exit_code, write_json};
use stack::stack::P99_MARGIN_OF_SHORT_STEPS_SECONDS;

/// Starts a stack, plays faults on it under load, and prints what clients saw.
#[derive(Parser)]
#[command(name = "chaos", after_help = "Exit codes: 0 if clients saw nothing wrong, else 1.")]
struct Arguments {
    /// Shorter: fewer splits and restarts, shorter stops, and a healthy ramp of one step, with a margin
    /// on its p99 gate
    #[arg(long)]
    quick: bool,
    /// Requests per second; the old side gets half of them, and all while the new side is away
    #[arg(long, default_value_t = 60.0)]
    rate: f64,
    /// Only faults whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// File of the figures
    #[arg(long, default_value = "target/chaos/chaos.json")]
    out: PathBuf,
}

fn main() -> ExitCode {
    exit_code("chaos", run(&service_kit::arguments::parse()))
}

fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let faults = faults(arguments.only.as_deref())?;
    println!(
        "{:<36} {:>8} {:>7} {:>6} {:>11} {:>9}  served by",
        "", "requests", "not 200", "failed", "asked again", "slowest"
    );
    let all = play(&faults, &plan(arguments)?, print)?;
    write_json(&arguments.out, &all)?;
    println!("\n{}", arguments.out.display());
    let well = all.iter().all(|seen| seen.complaints.is_empty());
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn faults(only: Option<&str>) -> anyhow::Result<Vec<&'static Fault>> {
    let wanted = |fault: &&Fault| only.is_none_or(|part| fault.name.contains(part));
    let faults: Vec<&Fault> = FAULTS.iter().filter(wanted).collect();
    if faults.is_empty() {
        let names = FAULTS.map(|fault| fault.name).join("; ");
        bail!("--only {:?}: the faults are {names}", only.unwrap_or_default());
    }
    Ok(faults)
}

fn plan(arguments: &Arguments) -> anyhow::Result<Plan> {
    let here = std::env::current_exe()?;
    let programs = here.parent().context("no folder of this program")?.to_owned();
    let quick = arguments.quick;
    let seconds = |full, short| Duration::from_secs(if quick { short } else { full });
    Ok(Plan {
        rate: arguments.rate,
        splits: if quick { 6 } else { 30 },
        restarts: if quick { 1 } else { 3 },
        stopped: seconds(10, 3),
        steps: if quick { "100" } else { "5,25,50,100" },
        p99_margin_seconds: if quick { P99_MARGIN_OF_SHORT_STEPS_SECONDS } else { 0.0 },
        hold: seconds(30, 20),
        programs,
    })
}

fn print(seen: &Seen) {
    let served: Vec<String> = seen.served.iter().map(|(by, n)| format!("{by} {n}")).collect();
    println!(
        "{:<36} {:>8} {:>7} {:>6} {:>11} {:>7.0}ms  {}{}",
        seen.fault,
        seen.requests,
        seen.statuses.values().sum::<usize>(),
        seen.failed,
        seen.asked_again,
        1e3 * seen.slowest_seconds,
        served.join(", "),
        match seen.wrong_pictures {
            0 => String::new(),
            wrong => format!(", wrong pictures {wrong}"),
        },
    );
    for complaint in &seen.complaints {
        println!("    wrong: {complaint}");
    }
}
