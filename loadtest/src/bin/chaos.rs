//! Faults under load, one after the other: what clients see of each.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Parser;
use loadtest::chaos::{FAULTS, Fault, Plan, Seen, play};

/// Plays faults on a stack of its own, under load, and says what clients saw.
#[derive(Parser)]
#[command(name = "chaos", after_help = "Exit codes: 0 where clients saw nothing wrong, else 1.")]
struct Arguments {
    /// Shorter: fewer splits and restarts, shorter stops, one step of the healthy ramp, whose p99 a
    /// single stall must not decide
    #[arg(long)]
    quick: bool,
    /// Requests a second; the legacy app gets half of them, and all while Rust is away
    #[arg(long, default_value_t = 60.0)]
    rate: f64,
    /// Only faults with this in their names
    #[arg(long)]
    only: Option<String>,
    /// Where the figures go
    #[arg(long, default_value = "target/chaos/chaos.json")]
    out: PathBuf,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Arguments = service_kit::arguments::parse();
    let faults = faults(arguments.only.as_deref())?;
    println!(
        "{:<36} {:>8} {:>7} {:>6} {:>11} {:>9}  served by",
        "", "requests", "not 200", "failed", "asked again", "slowest"
    );
    let all = play(&faults, &plan(&arguments)?, print)?;
    let folder = arguments.out.parent().context("--out")?;
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    fs::write(&arguments.out, serde_json::to_string_pretty(&all)? + "\n")
        .with_context(|| arguments.out.display().to_string())?;
    println!("\n{}", arguments.out.display());
    let well = all.iter().all(|seen| seen.complaints.is_empty());
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn faults(only: Option<&str>) -> anyhow::Result<Vec<&'static Fault>> {
    let wanted = |fault: &&Fault| only.is_none_or(|part| fault.name.contains(part));
    let faults: Vec<&Fault> = FAULTS.iter().filter(wanted).collect();
    if faults.is_empty() {
        let names = FAULTS.map(|fault| fault.name).join("; ");
        bail!("--only {:?}: there are {names}", only.unwrap_or_default());
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
        p99_margin_seconds: if quick { 2.5 } else { 0.0 },
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
        println!("    not well: {complaint}");
    }
}
