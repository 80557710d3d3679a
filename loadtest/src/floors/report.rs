//! The figures as a table and as JSON.

use std::fmt::Write as _;

use qr_bench::quartiles;
use serde::Serialize;

use super::{Answer, Measured, Plan, Row};
use crate::report::markdown::{number, time};
use crate::report::{machine, said};

/// A server that used less of its core than this waited for wrk.
const BUSY: f64 = 0.95;
/// Quartiles further apart than this part of the median are marked.
const SPREAD: f64 = 0.1;

/// What a row did with a number of connections: quartiles over the rounds.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Concurrent connections.
    pub connections: usize,
    /// Requests answered per second.
    pub requests_per_second: [f64; 3],
    /// Latency of the slowest of a hundred, in seconds.
    pub p99_seconds: [f64; 3],
    /// The part of its core that the server used.
    pub busy: [f64; 3],
}

impl Figures {
    fn new(connections: usize, rounds: &[Measured]) -> Self {
        let over = |value: fn(&Measured) -> f64| quartiles(rounds.iter().map(value).collect());
        Figures {
            connections,
            requests_per_second: over(|it| it.requests_per_second),
            p99_seconds: over(|it| it.p99_seconds),
            busy: over(|it| it.busy),
        }
    }

    fn shown(&self, fastest: f64) -> String {
        let [low, median, high] = self.requests_per_second;
        let limited = if self.busy[1] < BUSY { " ¹" } else { "" };
        let spread = if high - low > SPREAD * median { " ²" } else { "" };
        format!(
            "{} ({} - {}), {:.0} %, {}{limited}{spread}",
            number(median),
            number(low),
            number(high),
            100.0 * median / fastest,
            time(self.p99_seconds[1])
        )
    }
}

/// A row of `floors.json`.
#[derive(Clone, Debug, Serialize)]
pub struct RowReport {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// What it answers.
    pub answer: Answer,
    /// By number of connections.
    pub figures: Vec<Figures>,
}

/// `target/floors/floors.json`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The day of the run.
    pub date: String,
    /// Processors and kernel.
    pub machine: String,
    /// How it was measured.
    pub method: String,
    /// The rows.
    pub rows: Vec<RowReport>,
}

impl Report {
    /// Sums the rounds up.
    pub fn new(rows: Vec<Row>, plan: &Plan) -> Self {
        let row = |row: Row| RowReport {
            name: row.floor.name,
            about: row.floor.about,
            answer: row.answer,
            figures: plan
                .connections
                .iter()
                .zip(&row.measured)
                .map(|(&connections, rounds)| Figures::new(connections, rounds))
                .collect(),
        };
        Report {
            date: said("date", &["-u", "+%Y-%m-%d"]),
            machine: machine(),
            method: format!(
                "{} rounds; in each, every row's server alone on core {}, warmed up for 1 s and loaded for \
                 {} s by wrk on core {}, without pipelining. Before, each answered two requests over one \
                 connection with the same body of 420 bytes, Content-Type, Content-Length and Date.",
                plan.rounds,
                plan.server_core.list(),
                plan.seconds,
                plan.load_core.list()
            ),
            rows: rows.into_iter().map(row).collect(),
        }
    }
}

/// The table in Markdown, with what its marks mean.
pub fn table(report: &Report) -> String {
    let mut text = String::from("| |");
    let first = report.rows.first().map_or(&[][..], |row| row.figures.as_slice());
    for figures in first {
        let _ = write!(text, " {} connections |", figures.connections);
    }
    text += " bytes | more headers |\n| --- |";
    text += &" --- |".repeat(first.len());
    text += " ---: | --- |\n";
    let fastest = |column: usize| {
        let medians = report.rows.iter().map(|row| row.figures[column].requests_per_second[1]);
        medians.fold(f64::MIN_POSITIVE, f64::max)
    };
    for row in &report.rows {
        let _ = write!(text, "| {} |", row.name);
        for (column, figures) in row.figures.iter().enumerate() {
            let _ = write!(text, " {} |", figures.shown(fastest(column)));
        }
        let more = row.answer.more_headers.join(", ");
        let _ = writeln!(text, " {} | {more} |", row.answer.bytes);
    }
    let _ = write!(
        text,
        "\nRequests per second: median (quartiles), share of the fastest row, 99th percentile of latency. ¹ the server \
         used less than {:.0} % of its core, so wrk was the limit. ² the quartiles are more than {:.0} % apart.\n\n",
        100.0 * BUSY,
        100.0 * SPREAD
    );
    for row in &report.rows {
        let _ = writeln!(text, "- `{}`: {}", row.name, row.about);
    }
    let _ = writeln!(text, "\n{} {}; {}.", report.method, report.date, report.machine);
    text
}
