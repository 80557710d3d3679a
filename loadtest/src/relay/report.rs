//! The figures as tables and JSON.

use std::fmt::Write as _;

use qr_bench::quartiles;
use serde::Serialize;

use super::servers::Row;
use super::{KINDS, Measured, Moved, Plan};
use crate::report::markdown::time;
use crate::report::{machine, said};

/// A row: medians over the rounds.
#[derive(Clone, Debug, Serialize)]
pub struct RowReport {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// As [`KINDS`]: bytes that receivers got, per second.
    pub bytes_per_second: [Option<f64>; 4],
    /// The same per second of the relay's processor time, with the quartiles around it.
    pub bytes_per_cpu_second: [Option<[f64; 3]>; 4],
    /// Seconds from the sender's request to the receiver's head: median and 99th percentile.
    pub paired_seconds: Option<[f64; 2]>,
    /// The same to the receiver's last byte of 1000.
    pub whole_seconds: Option<[f64; 2]>,
    /// Resident memory with one pair that stands still, and with a thousand.
    pub rss_bytes: Option<[f64; 2]>,
    /// What each of the thousand adds in the system's sockets.
    pub socket_bytes_per_pair: Option<f64>,
    /// The most that each adds in pipes.
    pub pipe_bytes_per_pair: Option<f64>,
}

/// `target/ladder/relay.json`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The day of the run.
    pub date: String,
    /// Processors and kernel.
    pub machine: String,
    /// How it was measured.
    pub method: String,
    /// The kinds of transfer.
    pub kinds: [&'static str; 4],
    /// The rows.
    pub rows: Vec<RowReport>,
}

impl Report {
    /// Sums the rounds up.
    pub fn new(rows: &[Row], rounds: &[Vec<Measured>], plan: &Plan) -> Self {
        Report {
            date: said("date", &["-u", "+%Y-%m-%d"]),
            machine: machine(),
            method: format!(
                "{} rounds; in each, every row alone on core {}, transfers of about {} s of zeros in pieces \
                 of 64 KiB, and 100 pairs of 1000 bytes, one after the other. Bytes are those that receivers \
                 got. Medians. Memory in one round: pairs whose receivers do not read, with small \
                 buffers on the clients' side.",
                plan.rounds,
                plan.server_cores.list(),
                plan.seconds
            ),
            kinds: KINDS.map(|(name, ..)| name),
            rows: rows.iter().zip(rounds).map(|(row, rounds)| row_report(row, rounds)).collect(),
        }
    }
}

fn row_report(row: &Row, rounds: &[Measured]) -> RowReport {
    let over = |kind: usize, value: fn(&Moved) -> Option<f64>| {
        let values = rounds.iter().filter_map(|round| value(round.moved[kind].as_ref()?));
        let values: Vec<f64> = values.collect();
        (!values.is_empty()).then(|| quartiles(values))
    };
    let latency = |value: fn(&(f64, f64)) -> f64| {
        let mut all: Vec<f64> =
            rounds.iter().flat_map(|round| &round.latencies).map(value).collect();
        all.sort_by(f64::total_cmp);
        Some([*all.get(all.len() / 2)?, *all.get(all.len() * 99 / 100)?])
    };
    let held = rounds.iter().find_map(|round| round.held);
    let pairs = super::STALLED_PAIRS as f64;
    let kinds = [0, 1, 2, 3];
    RowReport {
        name: row.name,
        about: row.about,
        bytes_per_second: kinds
            .map(|kind| over(kind, |moved| Some(moved.bytes_per_second)).map(|it| it[1])),
        bytes_per_cpu_second: kinds.map(|kind| over(kind, |moved| moved.bytes_per_cpu_second)),
        paired_seconds: latency(|it| it.0),
        whole_seconds: latency(|it| it.1),
        rss_bytes: held.map(|held| held.map(|held| held.rss)),
        socket_bytes_per_pair: held.map(|held| held[1].sockets / pairs),
        pipe_bytes_per_pair: held.map(|held| held[1].pipes / pairs),
    }
}

/// The tables in Markdown.
pub fn markdown(report: &Report) -> String {
    let mut out =
        String::from("GB per second of the relay's processor time, and GB per second\n\n| |");
    let columns = report.kinds.map(|kind| format!(" {kind} | |"));
    let _ = writeln!(out, "{}\n| --- |{}", columns.concat(), " ---: |".repeat(8));
    let gigabytes =
        |bytes: Option<f64>| bytes.map_or("-".to_owned(), |it| format!("{:.2}", it / 1e9));
    for row in &report.rows {
        let _ = write!(out, "| {} |", row.name);
        for (cpu, wall) in row.bytes_per_cpu_second.iter().zip(row.bytes_per_second) {
            let _ = write!(out, " {} | {} |", gigabytes(cpu.map(|it| it[1])), gigabytes(wall));
        }
        out.push('\n');
    }
    out.push_str(
        "\n| | pairing p50 / p99 | 1000 bytes p50 / p99 | RSS MB, 1 pair | RSS MB, 1,000 | kB a pair | sockets kB a pair | pipes kB a pair, at most |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for row in &report.rows {
        let (Some(paired), Some(whole), Some(rss)) =
            (row.paired_seconds, row.whole_seconds, row.rss_bytes)
        else {
            continue;
        };
        let _ = writeln!(
            out,
            "| {} | {} / {} | {} / {} | {:.1} | {:.1} | {:.1} | {:.0} | {:.0} |",
            row.name,
            time(paired[0]),
            time(paired[1]),
            time(whole[0]),
            time(whole[1]),
            rss[0] / 1e6,
            rss[1] / 1e6,
            (rss[1] - rss[0]) / 999.0 / 1e3,
            row.socket_bytes_per_pair.unwrap_or_default() / 1e3,
            row.pipe_bytes_per_pair.unwrap_or_default() / 1e3,
        );
    }
    let _ = writeln!(out, "\n{} {}, {}.", report.method, report.date, report.machine);
    out
}
