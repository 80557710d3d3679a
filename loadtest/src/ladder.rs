//! The rounds: in each, one row's server after the other runs alone under load.

use std::path::Path;

use anstream::eprintln;
use anyhow::{Context, ensure};
use serde::Serialize;

use crate::load::{self, Load};
use crate::rows::{BASELINE, CEILING, Row};
use crate::sampling::{Memory, Sampler, cpu_seconds};
use crate::server::{Cores, Server};
use crate::{check, texts};

/// How many of the first texts are decoded before and after the load; a hundred have the whole mix.
pub const CHECKED: usize = 100;
/// Size of the static answer.
const STATIC_BYTES: f64 = 420.0;

/// How long and with what load each row is measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Rounds over all rows.
    pub rounds: usize,
    /// Seconds of load before the measurement.
    pub warm_up_seconds: u64,
    /// Seconds of closed-loop load, as fast as the server answers.
    pub closed_seconds: u64,
    /// Seconds at each of the two fixed rates.
    pub open_seconds: u64,
    /// Concurrent connections.
    pub connections: usize,
    /// Cores of the servers.
    pub server_cores: Cores,
    /// Cores of wrk and oha.
    pub load_cores: Cores,
}

/// One row's figures of one round.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Closed loop.
    pub closed: Load,
    /// Open loop at half of the baseline's capacity, the same rate for all rows.
    pub open_equal: Load,
    /// Open loop at 80 % of the row's own capacity.
    pub open_own: Load,
    /// The rates of the two open loops.
    pub asked_rates: [f64; 2],
    /// CPU time of the server's process trees per 1000 requests of the closed loop.
    pub cpu_seconds_per_1000: f64,
    /// Mean bytes of a picture, over the texts that are decoded.
    pub bytes_per_response: f64,
    /// Peak over all phases.
    pub memory: Memory,
}

/// Measures `rows` in `plan.rounds` rounds and returns the rounds of each row.
///
/// The rate that is the same for all rows is half of the baseline's capacity in its first round, so
/// the baseline must come before every row except the ceiling.
///
/// # Errors
/// If any server does not start, answers wrongly or fails a request.
pub fn climb(rows: &[Row], plan: &Plan) -> anyhow::Result<Vec<Vec<Measured>>> {
    let mix = texts::mix();
    for row in rows {
        // Fails before minutes are spent on other rows.
        check(&Server::start(row, &plan.server_cores)?, row, &mix).with_context(|| row.name)?;
    }
    let mut rounds = vec![Vec::new(); rows.len()];
    let mut equal_rate = None;
    for round in 1..=plan.rounds {
        for (row, measured) in rows.iter().zip(&mut rounds) {
            let here = measure_row(row, plan, &mix, &mut equal_rate)
                .with_context(|| format!("{}, round {round}", row.name))?;
            eprintln!(
                "round {round}/{}  {:<18} {:>8.0} requests/s",
                plan.rounds, row.name, here.closed.requests_per_second
            );
            measured.push(here);
        }
    }
    Ok(rounds)
}

fn measure_row(
    row: &Row,
    plan: &Plan,
    mix: &[String],
    equal_rate: &mut Option<f64>,
) -> anyhow::Result<Measured> {
    let server = Server::start(row, &plan.server_cores)?;
    let folder = tempfile::tempdir()?;
    let targets = folder.path().join("targets");
    texts::write_targets(&targets, &server.url, &texts::targets(texts::QRCODE, mix))?;
    let closed =
        |seconds| load::closed(&targets, &server.url, &plan.load_cores, plan.connections, seconds);
    closed(plan.warm_up_seconds)?;

    let roots = server.roots()?;
    let sampler = Sampler::start(roots.clone());
    let cpu_before = cpu_seconds(&roots);
    let at_saturation = closed(plan.closed_seconds)?;
    let cpu = cpu_seconds(&roots) - cpu_before;
    if row.name == BASELINE && equal_rate.is_none() {
        *equal_rate = Some(at_saturation.requests_per_second / 2.0);
    }
    // The ceiling comes before the baseline; its latency at the equal rate is not compared.
    let equal = equal_rate.unwrap_or(100.0);
    let own = 0.8 * at_saturation.requests_per_second;
    let open = |rate| open_loop(&targets, plan, rate);
    let (open_equal, open_own) = (open(equal)?, open(own)?);
    let memory = sampler.finish();
    let bytes_per_response = check(&server, row, mix)?;
    for (name, load) in [("closed", at_saturation), ("equal", open_equal), ("own", open_own)] {
        ensure!(load.errors == 0, "{} of {} requests failed ({name})", load.errors, load.requests);
        ensure!(load.requests > 0.0, "no request was answered ({name})");
    }
    Ok(Measured {
        closed: at_saturation,
        open_equal,
        open_own,
        asked_rates: [equal, own],
        bytes_per_response,
        cpu_seconds_per_1000: 1000.0 * cpu / at_saturation.requests,
        memory,
    })
}

/// Checks the pictures and returns their mean bytes.
fn check(server: &Server, row: &Row, mix: &[String]) -> anyhow::Result<f64> {
    match row.name {
        CEILING => Ok(STATIC_BYTES),
        _ => check::decodes(server, mix, CHECKED),
    }
}

fn open_loop(targets: &Path, plan: &Plan, rate: f64) -> anyhow::Result<Load> {
    load::open(targets, &plan.load_cores, plan.connections, rate, plan.open_seconds)
}
