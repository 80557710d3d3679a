//! Relays beside each other: bytes per second of processor time, latency, memory.

pub mod clients;
pub mod report;
pub mod servers;

use std::fs;
use std::time::Duration;

use anstream::eprintln;
use anyhow::{Context, ensure};

use crate::sampling::{cpu_seconds, memory};
use crate::server::Cores;
use clients::{Framing, Stalled};
use servers::{Row, Server, Way};

/// Bytes of the transfer that shows how many a row moves in a second.
const TRIAL_BYTES: u64 = 128 << 20;
/// Pairs that are timed in a round.
const TIMED_PAIRS: usize = 100;
/// Pairs whose receivers do not read.
const STALLED_PAIRS: usize = 1000;

/// How long each row is measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Rounds over all rows.
    pub rounds: usize,
    /// Seconds of each transfer, about.
    pub seconds: f64,
    /// Cores of the relay.
    pub server_cores: Cores,
}

/// A kind of transfer.
pub const KINDS: [(&str, usize, Framing); 4] = [
    ("length, n = 1", 1, Framing::Length),
    ("chunked, n = 1", 1, Framing::Chunked),
    ("length, n = 3", 3, Framing::Length),
    ("chunked, n = 3", 3, Framing::Chunked),
];

/// One transfer.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    /// Bytes that receivers got, per second.
    pub bytes_per_second: f64,
    /// The same, per second of the relay's processor time; none without a process.
    pub bytes_per_cpu_second: Option<f64>,
}

/// Memory while pairs stand still, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// Of the relay's processes.
    pub rss: f64,
    /// All sockets of the system.
    pub sockets: f64,
    /// Most that the relay's pipes can hold.
    pub pipes: f64,
}

/// One row's figures of one round.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// As [`KINDS`]; none if the row has no such transfer.
    pub moved: [Option<Moved>; 4],
    /// Seconds to a receiver's head, and to its last byte.
    pub latencies: Vec<(f64, f64)>,
    /// With one pair and with a thousand.
    pub held: Option<[Held; 2]>,
}

/// Measures `rows` in turn, round by round; returns the rounds of each row.
///
/// # Errors
/// If a row does not start, or a transfer fails.
pub fn climb(rows: &[Row], plan: &Plan) -> anyhow::Result<Vec<Vec<Measured>>> {
    let mut all = vec![Vec::new(); rows.len()];
    for round in 1..=plan.rounds {
        for (row, rounds) in rows.iter().zip(&mut all) {
            let measured = measure(row, plan, round == 1)
                .with_context(|| format!("{}, round {round}", row.name))?;
            let first = measured.moved[0].map_or(0.0, |moved| moved.bytes_per_second);
            eprintln!("round {round}/{}  {:<14} {:.2} GB/s", plan.rounds, row.name, first / 1e9);
            rounds.push(measured);
        }
    }
    Ok(all)
}

fn measure(row: &Row, plan: &Plan, with_memory: bool) -> anyhow::Result<Measured> {
    let mut measured = Measured::default();
    let server = Server::start(row, &plan.server_cores)?;
    for (kind, (name, n, framing)) in KINDS.into_iter().enumerate() {
        if n == 1 || row.way.is_relay() {
            let moved = transfer(&server, row.way, kind, n, framing, plan.seconds);
            measured.moved[kind] = Some(moved.context(name)?);
        }
    }
    if row.way.is_relay() {
        measured.latencies = clients::latencies(&server, TIMED_PAIRS).context("latency")?;
        if with_memory {
            drop(server);
            measured.held = Some(stall(row, plan).context("memory")?);
        }
    }
    Ok(measured)
}

fn transfer(
    server: &Server,
    way: Way,
    kind: usize,
    n: usize,
    framing: Framing,
    seconds: f64,
) -> anyhow::Result<Moved> {
    let trial = clients::stream(server, way, &format!("trial-{kind}"), n, framing, TRIAL_BYTES)?;
    let bytes = (TRIAL_BYTES as f64 * seconds / trial.as_secs_f64()) as u64;
    let roots = server.roots();
    let before = cpu_seconds(&roots);
    let took = clients::stream(server, way, &format!("stream-{kind}"), n, framing, bytes)?;
    let cpu = cpu_seconds(&roots) - before;
    let received = (bytes * n as u64) as f64;
    Ok(Moved {
        bytes_per_second: received / took.as_secs_f64(),
        bytes_per_cpu_second: (!roots.is_empty()).then(|| received / cpu),
    })
}

/// Memory with one pair that stands still, and with a thousand, each on a new server.
fn stall(row: &Row, plan: &Plan) -> anyhow::Result<[Held; 2]> {
    let held = |pairs| {
        let server = Server::start(row, &plan.server_cores)?;
        let before = sockets()?;
        let stalled = Stalled::start(&server, pairs)?;
        std::thread::sleep(Duration::from_secs(1));
        ensure!(stalled.are_open(), "connections were closed");
        let roots = server.roots();
        let rss = memory(&roots).rss_bytes as f64;
        anyhow::Ok(Held { rss, sockets: sockets()? - before, pipes: pipes(&roots) })
    };
    Ok([held(1)?, held(STALLED_PAIRS)?])
}

/// Bytes that all TCP sockets of the system hold.
fn sockets() -> anyhow::Result<f64> {
    let text = fs::read_to_string("/proc/net/sockstat")?;
    let line = text.lines().find(|line| line.starts_with("TCP:")).context("no TCP in sockstat")?;
    let pages = line.split_whitespace().skip_while(|word| *word != "mem").nth(1);
    Ok(pages.context("no mem in sockstat")?.parse::<f64>()? * rustix::param::page_size() as f64)
}

/// Bytes that the pipes of these processes can hold: 64 KiB each, by two descriptors.
fn pipes(roots: &[i32]) -> f64 {
    let folders = roots.iter().filter_map(|pid| fs::read_dir(format!("/proc/{pid}/fd")).ok());
    let targets = folders.flatten().filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let ends = targets.filter(|target| target.to_string_lossy().starts_with("pipe:")).count();
    (ends / 2 * 64 * 1024) as f64
}
