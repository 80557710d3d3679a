//! Compares relays: bytes per second of processor time, latency, peak memory.

mod clients;

use anyhow::Context;

use crate::servers::plan::{Figures, Plan};
use crate::servers::rows::Row;
use crate::servers::sampling::{Sampler, cpu_seconds};
use crate::servers::server::Server;
use clients::{latencies, stream};

/// Bytes of the trial transfer, which shows how many bytes a row moves per second.
const TRIAL_BYTES: u64 = 128 << 20;
/// Pairs that are timed in a round.
const TIMED_PAIRS: usize = 100;

/// A kind of transfer: the names of its figures, the receivers, whether the body is chunked. Figures are bytes that
/// receivers got per second of the relay's processor time, and per second.
const KINDS: [([&str; 2], usize, bool); 4] = [
    (["length1_cpu", "length1"], 1, false),
    (["chunked1_cpu", "chunked1"], 1, true),
    (["length3_cpu", "length3"], 3, false),
    (["chunked3_cpu", "chunked3"], 3, true),
];
/// Measures a row once. Fails if it does not start, or a transfer fails.
pub(super) fn measure(row: &Row, plan: &Plan) -> anyhow::Result<Figures> {
    let mut figures = Figures::new();
    let server = Server::start(row, &plan.server_cores)?;
    let sampler = Sampler::start(server.roots()?);
    for (names, n, chunked) in KINDS {
        if n == 1 || row.is_relay() {
            let seconds = plan.closed_seconds as f64;
            let moved = transfer(&server, row, names[1], n, chunked, seconds).context(names[1])?;
            figures.extend(names.into_iter().zip(moved));
        }
    }
    if row.is_relay() {
        let mut times = latencies(&server, TIMED_PAIRS).context("latency")?;
        for (at, names) in
            [["paired_p50", "paired_p99"], ["whole_p50", "whole_p99"]].iter().enumerate()
        {
            times.sort_by(|mine, other| mine[at].total_cmp(&other[at]));
            figures.insert(names[0], times[TIMED_PAIRS / 2][at]);
            figures.insert(names[1], times[TIMED_PAIRS * 99 / 100][at]);
        }
        figures.insert("pss_bytes", sampler.finish() as f64);
    }
    // A row without a process has no processor time; figures that a row does not have are left out.
    figures.retain(|_, value| value.is_finite());
    Ok(figures)
}

/// Bytes that receivers got, per second of the relay's processor time and per second.
fn transfer(
    server: &Server,
    row: &Row,
    key: &str,
    n: usize,
    chunked: bool,
    seconds: f64,
) -> anyhow::Result<[f64; 2]> {
    let send = |key: &str, bytes| stream(server, row, key, n, chunked, bytes);
    let trial = send(&format!("trial-{key}"), TRIAL_BYTES)?;
    let bytes = (TRIAL_BYTES as f64 * seconds / trial.as_secs_f64()) as u64;
    let roots = server.roots()?;
    let before = cpu_seconds(&roots);
    let took = send(key, bytes)?;
    let received = (bytes * n as u64) as f64;
    Ok([received / (cpu_seconds(&roots) - before), received / took.as_secs_f64()])
}
