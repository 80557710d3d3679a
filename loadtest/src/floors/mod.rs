//! Servers that always answer the same, beside each other: how fast one could be that has nothing to do.

mod answer;
mod report;
mod server;

use anstream::eprintln;
use anyhow::{Context, ensure};

pub use answer::Answer;
pub use report::{Report, table};
pub use server::{FLOORS, Floor, Server};

use crate::load;
use crate::sampling::cpu_seconds;
use crate::server::Cores;

/// How the rows are measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Rounds over all rows.
    pub rounds: usize,
    /// Seconds of load per row, number of connections and round.
    pub seconds: u64,
    /// Numbers of concurrent connections.
    pub connections: Vec<usize>,
    /// The core of the servers.
    pub server_core: Cores,
    /// The core of wrk.
    pub load_core: Cores,
}

/// What one load of a row gave.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Requests answered per second.
    pub requests_per_second: f64,
    /// Latency of the slowest of a hundred, in seconds.
    pub p99_seconds: f64,
    /// The part of its core that the server used. If it is below 1, something else was the limit: wrk.
    pub busy: f64,
}

/// A row: what it answers, and its figures by number of connections and round.
#[derive(Debug)]
pub struct Row {
    /// The server.
    pub floor: &'static Floor,
    /// Its answer.
    pub answer: Answer,
    /// As [`Plan::connections`], and for each the rounds.
    pub measured: Vec<Vec<Measured>>,
}

/// Checks each row's answer, then measures the rows in turn.
///
/// # Errors
/// If a server is missing, answers otherwise, or fails a request.
pub fn measure(floors: &[&'static Floor], plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for &floor in floors {
        // Fails before minutes are spent on other rows.
        let server = Server::start(floor, &plan.server_core).context(floor.name)?;
        let answer = answer::ask(server.addr, floor).context(floor.name)?;
        rows.push(Row { floor, answer, measured: vec![Vec::new(); plan.connections.len()] });
    }
    for round in 1..=plan.rounds {
        for row in &mut rows {
            let server = Server::start(row.floor, &plan.server_core)?;
            let mut said = String::new();
            for (&connections, measured) in plan.connections.iter().zip(&mut row.measured) {
                let here = load_one(&server, row.floor, plan, connections)
                    .with_context(|| format!("{}, {connections} connections", row.floor.name))?;
                said += &format!(" {:>9.0}", here.requests_per_second);
                measured.push(here);
            }
            eprintln!("round {round}/{}  {:<14}{said} requests/s", plan.rounds, row.floor.name);
        }
    }
    Ok(rows)
}

fn load_one(
    server: &Server,
    floor: &Floor,
    plan: &Plan,
    connections: usize,
) -> anyhow::Result<Measured> {
    let url = format!("http://{}{}", server.addr, floor.target);
    let load = |seconds| load::closed_for_one(&url, &plan.load_core, connections, seconds);
    load(1)?; // warm-up
    let roots = [server.root()];
    let (before, began) = (cpu_seconds(&roots), std::time::Instant::now());
    let load = load(plan.seconds)?;
    let busy = (cpu_seconds(&roots) - before) / began.elapsed().as_secs_f64();
    ensure!(load.errors == 0, "{} requests failed", load.errors);
    Ok(Measured {
        requests_per_second: load.requests_per_second,
        p99_seconds: load.p99_seconds,
        busy: busy / plan.server_core.count() as f64,
    })
}
