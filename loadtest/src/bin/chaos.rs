//! Plays faults under load, one after the other, and prints what clients saw.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anstream::{eprintln, println};
use anyhow::bail;
use clap::Parser;
use loadtest::servers::chaos::{
    FAULTS, Fault, OWN_MOUNTS, Plan, Report, STORMS, Storm, play, soak,
};
use qr_bench::files::write_json;
use service_kit::arguments::exit_code;

/// Starts a stack, plays faults on it under load, and prints what clients saw. Then plays storms, each on its own
/// stack.
#[derive(Parser)]
#[command(name = "chaos", after_help = "Exit codes: 0 if clients saw nothing wrong, else 1.")]
struct Arguments {
    /// Shorter: fewer splits and restarts, and shorter stops and steps, with a margin on the p99 gate of ramps
    #[arg(long)]
    quick: bool,
    /// Requests per second; the old side gets half of them, and all while the new side is away
    #[arg(long, default_value_t = 60.0)]
    rate: f64,
    /// Only faults and storms whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// Only the faults under a steady load, without storms
    #[arg(long)]
    faults_only: bool,
    /// Factor for the latency limits in storms, for a machine that does other work at the same time
    #[arg(long, default_value_t = 1.0)]
    slack: f64,
    /// Instead of the rest: sends as fast as the stack answers, with all faults in turn, until this many requests were
    /// made
    #[arg(long, value_name = "REQUESTS", conflicts_with_all = ["only", "faults_only"])]
    soak: Option<u64>,
    /// File of the figures [default: target/chaos/chaos.json, with --soak target/chaos/soak.json]
    #[arg(long)]
    out: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = service_kit::arguments::parse();
    with_own_mounts();
    exit_code("chaos", run(&arguments), 1)
}

/// Restarts this program with its own mounts, if allowed: then the disk that a fault fills disappears with the process,
/// however it ends.
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

fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (faults, storms) = chosen(arguments)?;
    let Arguments { rate, slack, quick, .. } = *arguments;
    let plan = Plan::new(rate, slack, quick, arguments.soak.is_some())?;
    let file = if arguments.soak.is_some() { "soak.json" } else { "chaos.json" };
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from("target/chaos").join(file));
    let mut reports = Vec::new();
    let mut told = |report: Report| {
        print(&report);
        reports.push(report);
    };
    if let Some(requests) = arguments.soak {
        soak(requests, &plan, told)?;
    } else {
        if !faults.is_empty() {
            play(&faults, &plan, &mut told)?;
        }
        for storm in storms {
            told(storm.play(&plan)?);
        }
    }
    write_json(&out, &reports)?;
    println!("{}", out.display());
    let is_well = reports.iter().all(|report| report.complaints.is_empty());
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The faults and the storms that are wanted.
fn chosen(arguments: &Arguments) -> anyhow::Result<(Vec<&'static Fault>, Vec<&'static Storm>)> {
    let only = arguments.only.as_deref();
    let wanted = |name: &str| only.is_none_or(|part| name.contains(part));
    let faults: Vec<&Fault> = FAULTS.iter().filter(|fault| wanted(fault.name)).collect();
    let mut storms: Vec<&Storm> = STORMS.iter().filter(|storm| wanted(storm.name)).collect();
    if arguments.faults_only {
        storms.clear();
    }
    if faults.is_empty() && storms.is_empty() {
        let names = FAULTS.iter().map(|fault| fault.name);
        let names: Vec<&str> = names.chain(STORMS.iter().map(|storm| storm.name)).collect();
        bail!("--only {:?}: the faults are {}", only.unwrap_or_default(), names.join("; "));
    }
    Ok((faults, storms))
}

fn print(report: &Report) {
    println!("\n{}", report.name);
    for (name, value) in &report.figures {
        println!("    {name:<56} {value:>10.1}");
    }
    for complaint in &report.complaints {
        println!("    wrong: {complaint}");
    }
}
