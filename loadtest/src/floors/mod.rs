//! Servers that always answer the same, beside each other: how fast one could be that has nothing to do.

mod answer;
mod html;
mod report;
mod rows;
mod server;

use anstream::eprintln;
use anyhow::{Context, ensure};

pub use answer::Answer;
pub use html::page;
pub use report::{Report, table};
pub use rows::{COLUMNS, Column, FLOORS, Floor};
pub use server::Server;

use crate::load;
use crate::sampling::{cpu_seconds, waited_cpu_seconds};
use crate::server::Cores;

/// How the rows are measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Rounds over all rows.
    pub rounds: usize,
    /// Seconds of load per row, column, number of connections and round.
    pub seconds: u64,
    /// Numbers of concurrent connections.
    pub connections: Vec<usize>,
    /// The columns.
    pub columns: Vec<Column>,
    /// The cores of the servers.
    pub server_cores: Cores,
    /// The core of wrk.
    pub load_cores: Cores,
}

/// What one load of a row gave.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Requests answered per second.
    pub requests_per_second: f64,
    /// Latency of the slowest of a hundred, in seconds.
    pub p99_seconds: f64,
    /// The server's CPU time per request.
    pub cpu_seconds_per_request: f64,
    /// The part of its cores that the server used. If it is below 1, something else was the limit.
    pub busy: f64,
    /// The part of its cores that wrk used. If it is 1 and `busy` is not, wrk was the limit.
    pub wrk_busy: f64,
}

/// A row in one column: what it answers, and its figures by number of connections and round.
#[derive(Debug)]
pub struct Cell {
    /// The server.
    pub floor: &'static Floor,
    /// How it is set up.
    pub column: Column,
    /// Its answer.
    pub answer: Answer,
    /// As [`Plan::connections`], and for each the rounds.
    pub measured: Vec<Vec<Measured>>,
}

/// The rows that are here, and a line for each that is not.
#[derive(Debug, Default)]
pub struct Cells {
    /// Those whose answers were compared.
    pub here: Vec<Cell>,
    /// The others, and why.
    pub left_out: Vec<String>,
}

/// Starts each row in each of its columns and compares its answer with that of all.
///
/// A row that does not start is left out, unless it is `wanted` by name.
///
/// # Errors
/// If a row answers otherwise and does not say why, or a wanted one does not start.
pub fn compare(
    floors: &[&'static Floor],
    plan: &Plan,
    wanted: impl Fn(&Floor) -> bool,
) -> anyhow::Result<Cells> {
    let mut cells = Cells::default();
    for &floor in floors {
        for &column in plan.columns.iter().filter(|&&column| floor.has(column)) {
            let what = || format!("{}, {}", floor.name, column.title());
            match Server::start(floor, column, &plan.server_cores) {
                Ok(server) => {
                    let answer = answer::ask(server.addr, floor).with_context(what)?;
                    let measured = vec![Vec::new(); plan.connections.len()];
                    cells.here.push(Cell { floor, column, answer, measured });
                }
                Err(error) if wanted(floor) => return Err(error.context(what())),
                Err(error) => {
                    // The first line of a server's last words, once for all columns that it holds for.
                    let line = format!("{}: {error:#}", floor.name);
                    let line = line.lines().next().unwrap_or_default().to_owned();
                    if !cells.left_out.contains(&line) {
                        cells.left_out.push(line);
                    }
                }
            }
        }
    }
    ensure!(!cells.here.is_empty(), "no row has one of these columns, or none is here");
    Ok(cells)
}

/// Measures the rows in turn, round after round.
///
/// # Errors
/// If a server does not start again, or fails a request.
pub fn measure(cells: &mut [Cell], plan: &Plan) -> anyhow::Result<()> {
    for round in 1..=plan.rounds {
        for cell in &mut *cells {
            let server = Server::start(cell.floor, cell.column, &plan.server_cores)?;
            let mut said = String::new();
            for (&connections, measured) in plan.connections.iter().zip(&mut cell.measured) {
                let here = load_one(&server, cell.floor, plan, connections)
                    .with_context(|| format!("{}, {connections} connections", cell.floor.name))?;
                said += &format!(" {:>9.0}", here.requests_per_second);
                measured.push(here);
            }
            let (name, column) = (cell.floor.name, cell.column.name());
            eprintln!("round {round}/{}  {name:<13} {column:<20}{said} requests/s", plan.rounds);
        }
    }
    Ok(())
}

fn load_one(
    server: &Server,
    floor: &Floor,
    plan: &Plan,
    connections: usize,
) -> anyhow::Result<Measured> {
    let url = format!("http://{}{}", server.addr, floor.target);
    let load = |seconds| load::closed_for_one(&url, &plan.load_cores, connections, seconds);
    load(1)?; // warm-up
    let roots = [server.root()];
    let (before, wrk_before) = (cpu_seconds(&roots), waited_cpu_seconds());
    let began = std::time::Instant::now();
    let load = load(plan.seconds)?;
    let took = began.elapsed().as_secs_f64();
    let cpu = cpu_seconds(&roots) - before;
    let wrk_cpu = waited_cpu_seconds() - wrk_before;
    ensure!(load.errors == 0, "{} requests failed", load.errors);
    ensure!(load.requests > 0.0, "no request was answered in {} s", plan.seconds);
    Ok(Measured {
        requests_per_second: load.requests_per_second,
        p99_seconds: load.p99_seconds,
        cpu_seconds_per_request: cpu / load.requests,
        busy: cpu / took / plan.server_cores.count() as f64,
        wrk_busy: wrk_cpu / took / plan.load_cores.count() as f64,
    })
}
