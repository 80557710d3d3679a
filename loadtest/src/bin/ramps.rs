//! Ramps on the real stack whose new side is known to be equal or worse.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anstream::println;
use anyhow::{Context, ensure};
use clap::Parser;
use loadtest::ramps::{KINDS, Kind, Plan, Trial, play};
use loadtest::{exit_code, write_json};

/// Plays ramps on the real stack, with nginx, edge, shadow and Prometheus, whose new side equals the old
/// one or makes a mistake, and prints how each ended and what clients saw.
#[derive(Parser)]
#[command(name = "ramps", after_help = "Exit codes: 0 if each ended as it should, else 1.")]
struct Arguments {
    /// Ramps of each kind
    #[arg(long, default_value_t = 10)]
    each: usize,
    /// Only kinds whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// Requests per second
    #[arg(long, default_value_t = 200.0)]
    rate: f64,
    /// The share of each step
    #[arg(long, default_value = "25,50,100", value_name = "PERCENT,PERCENT...")]
    steps: String,
    /// Seconds to hold each step
    #[arg(long, default_value_t = 20, value_name = "SECONDS")]
    hold: u64,
    /// File of the figures
    #[arg(long, default_value = "target/ramps/ramps.json")]
    out: PathBuf,
}

fn main() -> ExitCode {
    exit_code("ramps", run(&service_kit::arguments::parse()))
}

fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let wanted = |kind: &&Kind| arguments.only.as_ref().is_none_or(|part| kind.name.contains(part));
    let kinds: Vec<&Kind> = KINDS.iter().filter(wanted).collect();
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    ensure!(!kinds.is_empty(), "--only: the kinds are {}", names.join("; "));
    let here = std::env::current_exe()?;
    let plan = Plan {
        rate: arguments.rate,
        steps: arguments.steps.clone(),
        hold: Duration::from_secs(arguments.hold),
        patience: Duration::from_secs(300),
        programs: here.parent().context("no folder of this program")?.to_owned(),
    };
    let mut trials = Vec::new();
    for kind in kinds {
        println!("{}", kind.name);
        trials.extend(play(*kind, arguments.each, &plan, print).context(kind.name)?);
    }
    write_json(&arguments.out, &trials)?;
    let right = trials.iter().filter(|trial| trial.right).count();
    println!("{right} of {} ended as they should; {}", trials.len(), arguments.out.display());
    Ok(if right == trials.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(trial: &Trial) {
    println!(
        "    {} {:>4.0} s, {}% after it; clients: {} requests, {} not answered, {} wrong pictures, \
         p99 {:.0} ms; {}",
        if trial.right { "right" } else { "WRONG" },
        trial.seconds,
        trial.share_percent,
        trial.requests,
        trial.not_answered,
        trial.wrong_pictures,
        1e3 * trial.p99_seconds,
        trial.said,
    );
}
