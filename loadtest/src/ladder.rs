//! The rounds: every row's server alone, in turn.

use std::path::Path;

use anyhow::{Context, ensure};
use serde::Serialize;

use crate::load::{self, Load};
use crate::rows::{BASELINE, CEILING, Row};
use crate::sampling::{Memory, Sampler, cpu_seconds};
use crate::server::{Cores, Server};
use crate::{check, texts};

/// Texts whose pictures are decoded before and after the load: the first ones, as any hundred of them
/// have the mix.
pub const CHECKED: usize = 100;
/// What the ceiling's example answers.
const STATIC_BYTES: f64 = 420.0;

/// How much of everything.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Rounds; every row has its turn in each.
    pub rounds: usize,
    /// Seconds of load that are not measured.
    pub warm_up_seconds: u64,
    /// Seconds as fast as the server answers.
    pub closed_seconds: u64,
    /// Seconds at a fixed rate, twice.
    pub open_seconds: u64,
    /// Connections at once.
    pub connections: usize,
    /// Where servers run.
    pub server_cores: Cores,
    /// Where wrk and oha run.
    pub load_cores: Cores,
}

/// What one row came to in one round.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// As fast as it answers.
    pub closed: Load,
    /// At half of what the baseline can do, the same for all rows.
    pub open_equal: Load,
    /// At 80 % of what it can do itself.
    pub open_own: Load,
    /// The rates that the two were meant to have.
    pub asked_rates: [f64; 2],
    /// Processor time of the server's trees in the closed loop, for 1000 requests.
    pub cpu_seconds_per_1000: f64,
    /// Mean bytes of a picture, over the texts that are decoded: the same for all rows.
    pub bytes_per_response: f64,
    /// Peak over all phases.
    pub memory: Memory,
}

/// Measures `rows` in `plan.rounds` rounds; gives each row's rounds.
///
/// The rate that is the same for all rows is half of the baseline's capacity in its first round, so
/// the baseline comes before every row but the ceiling.
///
/// # Errors
/// Where a server does not start, answers wrongly or not at all: a ladder with a hole is none.
pub fn climb(rows: &[Row], plan: &Plan) -> anyhow::Result<Vec<Vec<Measured>>> {
    let mix = texts::mix();
    for row in rows {
        // Before minutes are spent on others.
        check(&Server::start(row, &plan.server_cores)?, row, &mix).with_context(|| row.name)?;
    }
    let mut rounds = vec![Vec::new(); rows.len()];
    let mut equal_rate = None;
    for round in 1..=plan.rounds {
        for (row, measured) in rows.iter().zip(&mut rounds) {
            let here = climb_rung(row, plan, &mix, &mut equal_rate)
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

fn climb_rung(
    row: &Row,
    plan: &Plan,
    mix: &[String],
    equal_rate: &mut Option<f64>,
) -> anyhow::Result<Measured> {
    let server = Server::start(row, &plan.server_cores)?;
    let folder = tempfile::tempdir()?;
    let targets = folder.path().join("targets");
    texts::write_targets(&targets, &server.url, mix)?;
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
    // The ceiling comes before the baseline, and is not compared at its rate.
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

/// Mean bytes of a picture.
fn check(server: &Server, row: &Row, mix: &[String]) -> anyhow::Result<f64> {
    match row.name {
        CEILING => Ok(STATIC_BYTES),
        _ => check::decodes(server, mix, CHECKED),
    }
}

fn open_loop(targets: &Path, plan: &Plan, rate: f64) -> anyhow::Result<Load> {
    load::open(targets, &plan.load_cores, plan.connections, rate, plan.open_seconds)
}
