//! The rows, under load by wrk, in turn.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use procfs::process::Process;
use service_kit::testing::Service;
use statrs::statistics::{Data, Median, OrderStatistics};

use super::Measure;
use super::served::rounds_in;

/// What the article's requests took.
const WORK: Duration = Duration::from_micros(100);
const LINK: &str = "/qrcode?text=https%3A%2F%2Fexample.com%2Fcampaign%2F2026%2Fautumn%2F0123456789";
const MODES: [&str; 3] = ["shared", "reuseport", "acceptor"];

struct Row {
    /// The path, for the table.
    what: &'static str,
    is_work: bool,
    threads: u16,
    mode: &'static str,
    /// Those that the server may run on.
    cores: Vec<usize>,
    connections: usize,
    runs: Vec<Run>,
}

struct Run {
    per_second: f64,
    /// Requests for a second of the server's processor time: what the clients take is not in it.
    per_cpu_second: f64,
    /// The processor time of the busiest thread that serves, over that of the idlest.
    apart: f64,
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
            // One thread on each core alone: the clients' core is slower, whoever serves there.
            let alone = plan.server_cores.iter().map(|&core| (1, MODES[0], vec![core]));
            let several = MODES.map(|mode| (plan.threads, mode, plan.server_cores.clone()));
            for (threads, mode, cores) in alone.chain(several) {
                rows.push(Row {
                    what,
                    is_work,
                    threads,
                    mode,
                    cores,
                    connections,
                    runs: Vec::new(),
                });
            }
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

fn run(row: &Row, plan: &Measure, work: u64) -> anyhow::Result<Run> {
    let cores = |cores: &[usize]| cores.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let mut command = Command::new("taskset");
    command.args(["-c", &cores(&row.cores)]);
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
    let load = |seconds: u64| wrk(&url, &cores(&plan.load_cores), row.connections, seconds);
    load(1)?; // warm-up
    // taskset has become the server.
    let pid = server.child.id().cast_signed();
    let (before, start) = (cpu(pid)?, Instant::now());
    let requests = load(plan.seconds)?;
    let (after, took) = (cpu(pid)?, start.elapsed().as_secs_f64());
    let used: Vec<f64> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
    let mut busiest = used.clone();
    busiest.sort_by(f64::total_cmp);
    let serving = &busiest[busiest.len().saturating_sub(row.threads.into())..];
    let apart = serving.last().unwrap_or(&0.0) / serving.first().unwrap_or(&0.0);
    let per_cpu_second = requests / used.iter().sum::<f64>();
    Ok(Run { per_second: requests / took, per_cpu_second, apart })
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
fn wrk(url: &str, cores: &str, connections: usize, seconds: u64) -> anyhow::Result<f64> {
    let mut wrk = Command::new("taskset");
    wrk.args(["-c", cores, "wrk", "--threads", "1", "--connections", &connections.to_string()]);
    let output = wrk.args(["--duration", &format!("{seconds}s"), url]).output().context("wrk")?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || said.contains("Socket errors") || said.contains("Non-2xx") {
        bail!("{said}{}", String::from_utf8_lossy(&output.stderr));
    }
    let line = said.lines().find_map(|line| line.split_once(" requests in "));
    let (requests, _) = line.with_context(|| format!("wrk said {said}"))?;
    Ok(requests.trim().parse()?)
}

/// The quartiles of a figure over the runs.
fn quartiles(runs: &[Run], figure: fn(&Run) -> f64) -> [f64; 3] {
    let mut values = Data::new(runs.iter().map(figure).collect::<Vec<f64>>());
    [values.lower_quartile(), values.median(), values.upper_quartile()]
}

fn print(rows: &[Row], plan: &Measure, work: u64) {
    println!(
        "\n| | connections | threads | requests/s | requests per CPU second | over one thread | over one on \
         each core | apart |\n| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |"
    );
    let cpu = |row: &Row| quartiles(&row.runs, |run| run.per_cpu_second)[1];
    for row in rows {
        let [low, median, high] = quartiles(&row.runs, |run| run.per_second);
        let [_, apart, _] = quartiles(&row.runs, |run| run.apart);
        let alike = |it: &&Row| (it.what, it.connections) == (row.what, row.connections);
        let ones: Vec<f64> =
            rows.iter().filter(alike).filter(|it| it.threads == 1).map(cpu).collect();
        let all = cpu(row) * f64::from(row.threads);
        let first = ones.first().map_or(1.0, |first| all / first);
        let each = all * ones.len() as f64 / ones.iter().sum::<f64>();
        let (what, connections, threads, mode) = (row.what, row.connections, row.threads, row.mode);
        let (each, core) = match (threads, &row.cores[..]) {
            (1, [core]) => (String::new(), format!(" on core {core}")),
            _ => (format!("{each:.2}"), String::new()),
        };
        println!(
            "| {what} | {connections} | {threads} {mode}{core} | {median:.0} ({low:.0} - {high:.0}) | {:.0} | \
             {first:.2} | {each} | {apart:.2} |",
            cpu(row)
        );
    }
    println!(
        "\n{} rounds of {} s each, in turn; wrk on cores {:?}, servers on {:?}. 100 µs are {work} rounds of \
         arithmetic. \"Over one thread\": requests per CPU second, times the threads, over those of one \
         thread on the first core; \"on each core\": over the mean of one thread on each core alone. \
         \"Apart\": the busiest serving thread's processor time over the idlest one's.",
        plan.rounds.max(1),
        plan.seconds,
        plan.load_cores,
        plan.server_cores
    );
}
