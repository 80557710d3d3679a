//! Plays faults under load, one after the other, and prints what clients saw.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anstream::{eprintln, println};
use anyhow::{Context, bail};
use clap::Parser;
use loadtest::chaos::soak::{Round, soak};
use loadtest::chaos::{FAULTS, Fault, OWN_MOUNTS, Plan, Seen, play};
use loadtest::overload::{self, PARTS, Part, Report};
use loadtest::{exit_code, write_json};
use ramp::Share;
use serde::Serialize;

/// Starts a stack, plays faults on it under load, and prints what clients saw.
#[derive(Parser)]
#[command(name = "chaos", after_help = "Exit codes: 0 if clients saw nothing wrong, else 1.")]
struct Arguments {
    /// Shorter: fewer splits and restarts, and shorter stops and steps, with a margin on the p99 gate of ramps
    #[arg(long)]
    quick: bool,
    /// Requests per second; the old side gets half of them, and all while the new side is away
    #[arg(long, default_value_t = 60.0)]
    rate: f64,
    /// Only faults whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// Only the faults under a steady load, without overload and slow clients
    #[arg(long)]
    faults_only: bool,
    /// Instead of all that: as many requests as the stack answers, with all faults in turn, until there
    /// were so many
    #[arg(long, value_name = "REQUESTS", conflicts_with_all = ["only", "faults_only"])]
    soak: Option<u64>,
    /// File of the figures
    #[arg(long, default_value = "target/chaos/chaos.json")]
    out: PathBuf,
}

fn main() -> ExitCode {
    let arguments = service_kit::arguments::parse();
    with_own_mounts();
    exit_code("chaos", run(&arguments))
}

/// Starts this program anew with mounts of its own, if it may have them: the disk that a fault fills is
/// gone with the process then, however that ends.
fn with_own_mounts() {
    let unshare = || {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--"]);
        command
    };
    let is_possible = || unshare().arg("true").output().is_ok_and(|output| output.status.success());
    if std::env::var_os(OWN_MOUNTS).is_none() && is_possible() {
        let this = std::env::args_os();
        let error = unshare().args(this).env(OWN_MOUNTS, "1").exec();
        eprintln!("chaos: {error}");
    }
}

/// The figures of a run.
#[derive(Default, Serialize)]
struct Figures {
    faults: Vec<Seen>,
    overload: Vec<Overload>,
}

/// The figures of a part of [`PARTS`].
#[derive(Serialize)]
struct Overload {
    part: &'static str,
    #[serde(flatten)]
    report: Report,
}

fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (faults, parts) = chosen(arguments.only.as_deref())?;
    let plan = plan(arguments)?;
    if let Some(requests) = arguments.soak {
        let report = soak(requests, &plan, |report| {
            report.rounds.last().map(print_round);
            write_json(&arguments.out, report)
        })?;
        for complaint in &report.complaints {
            println!("wrong: {complaint}");
        }
        println!("{}", arguments.out.display());
        let well = report.complaints.is_empty();
        return Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let mut figures = Figures::default();
    if !faults.is_empty() {
        println!(
            "{:<36} {:>8} {:>7} {:>6} {:>11} {:>9}  served by",
            "", "requests", "not 200", "failed", "asked again", "slowest"
        );
        figures.faults = play(&faults, &plan, print)?;
    }
    let overload = overload::Plan {
        fault: Duration::from_secs(if arguments.quick { 8 } else { 15 }),
        storm: 1000.0,
        slow: 10_000,
        slack: 1.0,
        qr_service: plan.programs.join("qr-service"),
    };
    let parts = if arguments.faults_only { Vec::new() } else { parts };
    for part in parts {
        println!("\n{}", part.name);
        let report = (part.play)(&overload).context(part.name)?;
        print_report(&report);
        figures.overload.push(Overload { part: part.name, report });
    }
    write_json(&arguments.out, &figures)?;
    println!("\n{}", arguments.out.display());
    let well = figures.faults.iter().all(|seen| seen.complaints.is_empty())
        && figures.overload.iter().all(|part| part.report.complaints.is_empty());
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The faults and the parts whose name contains `only`.
fn chosen(only: Option<&str>) -> anyhow::Result<(Vec<&'static Fault>, Vec<&'static Part>)> {
    let wanted = |name: &str| only.is_none_or(|part| name.contains(part));
    let faults: Vec<&Fault> = FAULTS.iter().filter(|fault| wanted(fault.name)).collect();
    let parts: Vec<&Part> = PARTS.iter().filter(|part| wanted(part.name)).collect();
    if faults.is_empty() && parts.is_empty() {
        let names = FAULTS.iter().map(|fault| fault.name);
        let names: Vec<&str> = names.chain(PARTS.iter().map(|part| part.name)).collect();
        bail!("--only {:?}: the faults are {}", only.unwrap_or_default(), names.join("; "));
    }
    Ok((faults, parts))
}

fn print_round(round: &Round) {
    let Round { seconds, tally, memory_bytes } = round;
    let lost: u64 = tally.lost.values().sum();
    let memory: Vec<String> = memory_bytes
        .iter()
        .map(|(part, bytes)| format!("{part} {:.0}", *bytes as f64 / 1e6))
        .collect();
    println!(
        "{seconds:>6.0} s: {} requests, {lost} lost, {} told to come again, {} asked again, {} decoded, {} wrong \
         and {} by the fault; slowest {:.1} s; MB: {}",
        tally.requests,
        tally.told_to_wait,
        tally.asked_again,
        tally.decoded,
        tally.wrong,
        tally.wrong_by_fault,
        tally.slowest_seconds,
        memory.join(", "),
    );
    for (why, count) in &tally.lost {
        println!("    {count} lost: {why}");
    }
}

fn print_report(report: &Report) {
    for (name, value) in &report.figures {
        println!("    {name:<56} {value:>10.1}");
    }
    for complaint in &report.complaints {
        println!("    wrong: {complaint}");
    }
}

fn plan(arguments: &Arguments) -> anyhow::Result<Plan> {
    let here = std::env::current_exe()?;
    let programs = here.parent().context("no folder of this program")?.to_owned();
    // A soak plays each fault many times.
    let is_soak = arguments.soak.is_some();
    let quick = arguments.quick || is_soak;
    let seconds = |full, short| Duration::from_secs(if quick { short } else { full });
    Ok(Plan {
        rate: arguments.rate,
        // The old side has a share in a soak too, but does not set its pace.
        share: if is_soak { "99.8".parse()? } else { Share::percent(50)? },
        // With little traffic, mirror more, or ramp waits for comparisons.
        mirror: Share::percent(if is_soak { 10 } else { 50 })?,
        splits: if quick { 6 } else { 30 },
        restarts: if quick { 1 } else { 3 },
        stopped: seconds(10, 3),
        has_short_steps: quick,
        hold: seconds(30, 8),
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
