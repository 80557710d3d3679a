//! The rows, under load by wrk, in turn.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use procfs::process::Process;
use service_kit::testing::Service;

use super::Measure;
use super::served::rounds_in;
use super::table::print;

/// What the article's requests took.
const WORK: Duration = Duration::from_micros(100);
const LINK: &str = "/qrcode?text=https%3A%2F%2Fexample.com%2Fcampaign%2F2026%2Fautumn%2F0123456789";
const MODES: [&str; 3] = ["shared", "reuseport", "acceptor"];

pub(crate) struct Row {
    /// The path, for the table.
    pub(crate) what: &'static str,
    is_work: bool,
    pub(crate) threads: u16,
    pub(crate) mode: &'static str,
    /// Interrupts nobody: `chrt --batch 0`, as `make up` starts qr-service.
    pub(crate) is_batch: bool,
    /// Those that the server may run on.
    pub(crate) cores: Vec<usize>,
    /// Those of the rows that it is compared with.
    pub(crate) connections: usize,
    /// Its own: with one thread perhaps only as many as a thread of several has.
    pub(crate) own: usize,
    pub(crate) runs: Vec<Run>,
}

pub(crate) struct Run {
    pub(crate) per_second: f64,
    /// Requests for a second of the server's processor time: what the clients take is not in it.
    pub(crate) per_cpu_second: f64,
    /// The cores that the server used: its processor time over the clock's.
    pub(crate) cores: f64,
    /// The processor time of the busiest thread that serves, over that of the idlest.
    pub(crate) apart: f64,
}

/// Measures all rows and prints the table.
pub(crate) fn measure(plan: &Measure) -> anyhow::Result<()> {
    let work = rounds_in(WORK);
    let mut rows = Vec::new();
    for (what, is_work) in [("100 µs of work", true), ("qr-service", false)] {
        if !is_work && plan.qr_service.is_none() {
            continue;
        }
        for &connections in &plan.connections {
            rows.extend(rows_of(plan, what, is_work, connections));
        }
    }
    for round in 1..=plan.rounds.max(1) {
        for row in &mut rows {
            let run = run(row, plan, work)
                .with_context(|| format!("{}, {} {}", row.what, row.threads, row.mode))?;
            row.runs.push(run);
        }
        println!("round {round} of {} is over", plan.rounds.max(1));
    }
    print(&rows, plan, work);
    Ok(())
}

/// The rows that are compared with each other.
fn rows_of(plan: &Measure, what: &'static str, is_work: bool, connections: usize) -> Vec<Row> {
    let row = |threads, mode, is_batch, cores: &[usize], own| {
        let (cores, runs) = (cores.to_vec(), Vec::new());
        Row { what, is_work, threads, mode, is_batch, cores, connections, own, runs }
    };
    let (all, share) = (&plan.server_cores[..], connections / usize::from(plan.threads.max(1)));
    // One thread on each core alone: the clients' core is slower, whoever serves there.
    let alone = all.iter().map(|&core| row(1, MODES[0], false, &[core], connections));
    let mut rows: Vec<Row> = alone.collect();
    // A thread of several has its share of the connections, so each waking finds fewer requests.
    let first = &all[..1];
    rows.push(row(1, MODES[0], false, first, share.max(1)));
    rows.extend(MODES.map(|mode| row(plan.threads, mode, false, all, connections)));
    if !is_work {
        rows.push(row(1, MODES[0], true, first, connections));
        rows.push(row(1, MODES[0], true, first, share.max(1)));
        rows.push(row(plan.threads, MODES[0], true, all, connections));
    }
    rows
}

fn run(row: &Row, plan: &Measure, work: u64) -> anyhow::Result<Run> {
    let cores = |cores: &[usize]| cores.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let mut command = Command::new("taskset");
    command.args(["-c", &cores(&row.cores)]);
    if row.is_batch {
        command.args(["chrt", "--batch", "0"]);
    }
    let threads = row.threads.to_string();
    let target = match (&plan.qr_service, row.is_work) {
        (Some(program), false) => {
            command.arg(program).env("QR_ADDR", "127.0.0.1:0").env("QR_ADMIN_ADDR", "127.0.0.1:0");
            command.env("QR_WORKER_THREADS", threads).env("QR_SERVE_MODE", row.mode);
            LINK
        }
        _ => {
            command.arg(std::env::current_exe()?).args(["serve", "--threads", &threads]);
            command.args(["--mode", row.mode, "--work", &work.to_string()]);
            "/"
        }
    };
    let server = Service::start(&mut command);
    let url = format!("http://{}{target}", server.addr);
    let how = (cores(&plan.load_cores), plan.load_nice);
    let load = |seconds: u64| wrk(&url, (&how.0, how.1), row.own, seconds);
    load(1)?; // warm-up
    // taskset and chrt have become the server.
    let pid = server.child.id().cast_signed();
    let (before, start) = (cpu(pid)?, Instant::now());
    let requests = load(plan.seconds)?;
    let (after, took) = (cpu(pid)?, start.elapsed().as_secs_f64());
    let used: Vec<f64> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
    let mut busiest = used.clone();
    busiest.sort_by(f64::total_cmp);
    let serving = &busiest[busiest.len().saturating_sub(row.threads.into())..];
    let apart = serving.last().unwrap_or(&0.0) / serving.first().unwrap_or(&0.0);
    let all: f64 = used.iter().sum();
    let per_second = requests / took;
    Ok(Run { per_second, per_cpu_second: requests / all, cores: all / took, apart })
}

/// The processor seconds of each thread, in the order of their ids.
fn cpu(pid: i32) -> anyhow::Result<Vec<f64>> {
    let mut threads = Vec::new();
    for task in Process::new(pid)?.tasks()? {
        let task = task?;
        // In nanoseconds; `stat` has hundredths of a second.
        let ran = std::fs::read_to_string(format!("/proc/{pid}/task/{}/schedstat", task.tid))?;
        let ran: f64 = ran.split(' ').next().unwrap_or_default().parse()?;
        threads.push((task.tid, ran / 1e9));
    }
    threads.sort_unstable_by_key(|&(tid, _)| tid);
    Ok(threads.into_iter().map(|(_, seconds)| seconds).collect())
}

/// Loads the server as fast as it answers; returns how many requests were answered.
fn wrk(
    url: &str,
    (cores, nice): (&str, i8),
    connections: usize,
    seconds: u64,
) -> anyhow::Result<f64> {
    let mut wrk = Command::new("nice");
    wrk.args(["-n", &nice.to_string(), "taskset", "-c", cores, "wrk", "--threads", "1"]);
    wrk.args(["--connections", &connections.to_string()]);
    let output = wrk.args(["--duration", &format!("{seconds}s"), url]).output().context("wrk")?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || said.contains("Socket errors") || said.contains("Non-2xx") {
        bail!("{said}{}", String::from_utf8_lossy(&output.stderr));
    }
    let line = said.lines().find_map(|line| line.split_once(" requests in "));
    let (requests, _) = line.with_context(|| format!("wrk said {said}"))?;
    Ok(requests.trim().parse()?)
}
