//! The figures as a table and as JSON.

use std::fmt::Write as _;

use qr_bench::quartiles;
use serde::Serialize;

use super::rows::{Column, FLOORS, Floor};
use super::{Answer, Cell, Cells, Measured, Plan};
use crate::report::markdown::{number, time};
use crate::report::{machine, said, wide};

/// A server that used less of its cores than this waited for something else.
const BUSY: f64 = 0.95;

/// What a row did in a column with a number of connections: quartiles over the rounds.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Concurrent connections.
    pub connections: usize,
    /// How often it ran.
    pub runs: usize,
    /// Requests answered per second.
    pub requests_per_second: [f64; 3],
    /// Requests that the server's own CPU time would answer per second, on as many cores as it has.
    pub requests_per_second_of_cpu: [f64; 3],
    /// Latency of the slowest of a hundred, in seconds.
    pub p99_seconds: [f64; 3],
    /// The server's CPU time per request.
    pub cpu_seconds_per_request: [f64; 3],
    /// The part of its cores that the server used.
    pub busy: [f64; 3],
    /// The part of its cores that wrk used.
    pub wrk_busy: [f64; 3],
}

impl Figures {
    fn new(connections: usize, rounds: &[Measured], plan: &Plan) -> Self {
        let over = |value: &dyn Fn(&Measured) -> f64| quartiles(rounds.iter().map(value).collect());
        let cores = plan.server_cores.count() as f64;
        Figures {
            connections,
            runs: rounds.len(),
            requests_per_second: over(&|it| it.requests_per_second),
            requests_per_second_of_cpu: over(&|it| cores / it.cpu_seconds_per_request),
            p99_seconds: over(&|it| it.p99_seconds),
            cpu_seconds_per_request: over(&|it| it.cpu_seconds_per_request),
            busy: over(&|it| it.busy),
            wrk_busy: over(&|it| it.wrk_busy),
        }
    }

    /// What a row is compared by.
    pub(super) fn rate(&self, shared: bool) -> [f64; 3] {
        if shared { self.requests_per_second_of_cpu } else { self.requests_per_second }
    }

    /// The marks of its notes.
    pub(super) fn marks(&self, shared: bool) -> String {
        let limited = if !shared && self.busy[1] < BUSY { " ¹" } else { "" };
        let spread = if wide(self.rate(shared)) { " ²" } else { "" };
        format!("{limited}{spread}")
    }

    /// The other measure: beside the rate that by CPU time, and the rate beside that by CPU time.
    pub(super) fn other(&self, shared: bool) -> [f64; 3] {
        self.rate(!shared)
    }

    fn shown(&self, shared: bool, fastest: [f64; 2]) -> String {
        let p99 = if shared { String::new() } else { format!(", {}", time(self.p99_seconds[1])) };
        let one = |[low, median, high]: [f64; 3], fastest: f64| {
            let share = 100.0 * median / fastest;
            format!("{} ({} - {}), {share:.0} %", number(median), number(low), number(high))
        };
        format!(
            "{}{p99}{}<br>{}",
            one(self.rate(shared), fastest[0]),
            self.marks(shared),
            one(self.other(shared), fastest[1]),
        )
    }
}

/// A row in one column.
#[derive(Clone, Debug, Serialize)]
pub struct CellReport {
    /// How the server is set up.
    pub column: Column,
    /// What it answers.
    pub answer: Answer,
    /// By number of connections.
    pub figures: Vec<Figures>,
}

/// A row of `floors.json`.
#[derive(Clone, Debug, Serialize)]
pub struct RowReport {
    /// Its name.
    pub name: &'static str,
    /// What it is, with what it answers otherwise and what it cannot do.
    pub about: String,
    /// By column; some rows have not all.
    pub columns: Vec<CellReport>,
}

impl RowReport {
    /// It in a column, with a number of connections.
    pub(super) fn figures(&self, column: Column, connections: usize) -> Option<&Figures> {
        let cell = self.columns.iter().find(|cell| cell.column == column)?;
        cell.figures.iter().find(|figures| figures.connections == connections)
    }
}

/// `target/floors/floors.json`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The day of the run.
    pub date: String,
    /// Processors and kernel.
    pub machine: String,
    /// What was measured, as the programs say.
    pub versions: Vec<String>,
    /// How it was measured.
    pub method: String,
    /// Whether wrk ran on the servers' cores. Rows are then compared by their own CPU time.
    pub shared: bool,
    /// The columns that were measured.
    pub columns: Vec<Column>,
    /// The numbers of connections.
    pub connections: Vec<usize>,
    /// The rows.
    pub rows: Vec<RowReport>,
    /// Rows that are missing, and why.
    pub left_out: Vec<String>,
}

impl Report {
    /// Sums the rounds up.
    pub fn new(cells: Cells, plan: &Plan) -> Self {
        let row = |floor: &'static Floor| {
            let mine = cells.here.iter().filter(|cell| cell.floor.name == floor.name);
            let columns: Vec<CellReport> = mine.map(|cell| cell_report(cell, plan)).collect();
            let row = RowReport { name: floor.name, about: about(floor), columns };
            (!row.columns.is_empty()).then_some(row)
        };
        Report {
            date: said("date", &["-u", "+%Y-%m-%d"]),
            machine: machine(),
            versions: versions(),
            method: method(plan),
            shared: plan.server_cores.overlaps(&plan.load_cores),
            columns: plan.columns.clone(),
            connections: plan.connections.clone(),
            rows: FLOORS.iter().filter_map(row).collect(),
            left_out: cells.left_out,
        }
    }

    /// The fastest row of a column by what rows are compared by, and by the other measure.
    pub(super) fn fastest(&self, column: Column, connections: usize) -> [f64; 2] {
        let all = || self.rows.iter().filter_map(|row| row.figures(column, connections));
        let most = |rates: &dyn Fn(&Figures) -> [f64; 3]| {
            all().map(|figures| rates(figures)[1]).fold(f64::MIN_POSITIVE, f64::max)
        };
        [most(&|it| it.rate(self.shared)), most(&|it| it.other(self.shared))]
    }

    /// What the marks and the order of a cell mean.
    pub(super) fn notes(&self) -> String {
        let wrk = self.rows.iter().flat_map(|row| &row.columns).flat_map(|cell| &cell.figures);
        let wrk = wrk.map(|figures| figures.wrk_busy[1]).fold(0.0, f64::max);
        let spread = "² the quartiles are more than 10 % apart.";
        let by_cpu = "Requests that the server's own CPU time would answer per second on its cores";
        let share = "median (quartiles), share of the fastest row of the column";
        if self.shared {
            return format!(
                "{by_cpu}: {share}. Below: the requests per second, for which wrk had to share the cores. {spread}"
            );
        }
        format!(
            "Requests per second: {share}, 99th percentile of latency. Below: {by_cpu_small}, likewise, which holds where \
             wrk was the limit. ¹ the server used less than {:.0} % of its cores: wrk was the limit, or with one \
             connection the way between them. wrk used {:.0} % of its own at most. {spread}",
            100.0 * BUSY,
            100.0 * wrk,
            by_cpu_small = by_cpu.replacen('R', "r", 1),
        )
    }
}

fn cell_report(cell: &Cell, plan: &Plan) -> CellReport {
    let pairs = plan.connections.iter().zip(&cell.measured);
    CellReport {
        column: cell.column,
        answer: cell.answer.clone(),
        figures: pairs.map(|(&count, rounds)| Figures::new(count, rounds, plan)).collect(),
    }
}

fn about(floor: &Floor) -> String {
    let more = floor.differs.map(|why| format!(". Other lines: {why}")).unwrap_or_default();
    let lacks = floor.lacks.map(|why| format!(". Columns: {why}")).unwrap_or_default();
    format!("{}{more}{lacks}", floor.about)
}

fn versions() -> Vec<String> {
    let asked: [(&str, &[&str]); 6] = [
        ("rustc", &["--version"]),
        ("go", &["version"]),
        ("node", &["--version"]),
        ("nginx", &["-v"]),
        ("haproxy", &["-v"]),
        ("h2o", &["--version"]),
    ];
    let said = |(program, args)| {
        let line = said(program, args).lines().next().unwrap_or_default().trim().to_owned();
        let named = line.is_empty() || line.to_lowercase().contains(program);
        if named { line } else { format!("{program} {line}") }
    };
    asked.into_iter().map(said).filter(|line| !line.is_empty()).collect()
}

fn method(plan: &Plan) -> String {
    let rounds = if plan.rounds == 1 { "round" } else { "rounds" };
    format!(
        "{} {rounds}; in each, every row's server alone on {}, warmed up for 1 s and loaded for {} s by wrk on {}, over \
         kept connections without pipelining. Before, each answered two requests over one connection with the same \
         420 bytes, status, Content-Type, Content-Length and Date; names of headers may have any case and order. With \
         timeouts, a request's head may take 10 s and a connection may wait 60 s.",
        plan.rounds,
        cores(&plan.server_cores.list()),
        plan.seconds,
        cores(&plan.load_cores.list())
    )
}

fn cores(list: &str) -> String {
    if list.contains(',') { format!("cores {list}") } else { format!("core {list}") }
}

/// The tables in Markdown, one per number of connections, with what their marks mean.
pub fn table(report: &Report) -> String {
    let mut text = String::new();
    for &connections in &report.connections {
        let plural = if connections == 1 { "" } else { "s" };
        let _ = write!(text, "### {connections} connection{plural}\n\n| |");
        for column in &report.columns {
            let _ = write!(text, " {} |", column.title());
        }
        let columns = report.columns.len();
        let _ = writeln!(text, " runs |\n| --- |{} ---: |", " --- |".repeat(columns));
        for row in &report.rows {
            let _ = write!(text, "| {} |", row.name);
            let mut runs = 0;
            for &column in &report.columns {
                let fastest = report.fastest(column, connections);
                let figures = row.figures(column, connections);
                let shown = figures.map(|figures| figures.shown(report.shared, fastest));
                runs = runs.max(figures.map_or(0, |figures| figures.runs));
                let _ = write!(text, " {} |", shown.unwrap_or_default());
            }
            let _ = writeln!(text, " {runs} |");
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{}\n", report.notes());
    for row in &report.rows {
        let bytes = row.columns.first().map_or(0, |cell| cell.answer.bytes);
        let _ = writeln!(text, "- `{}` ({bytes} bytes): {}", row.name, row.about);
    }
    for line in &report.left_out {
        let _ = writeln!(text, "- Left out: {line}");
    }
    let versions = report.versions.join(", ");
    let _ = writeln!(text, "\n{} {}; {}; {versions}.", report.method, report.date, report.machine);
    text
}
