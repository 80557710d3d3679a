//! Sums up the rounds: figures, tables, a page and a picture.

pub mod html;
pub mod markdown;
pub mod svg;

use std::process::Command;

use qr_bench::quartiles;
use serde::{Deserialize, Serialize};

use crate::ladder::{CHECKED, Measured, Plan};
use crate::load::Load;
use crate::rows::{BASELINE, CEILING, Row};
use crate::texts;

/// A row above this share of the ceiling is limited by wrk. A row that gets less than this share of the
/// requested rate has missed the rate.
const LIMITED: f64 = 0.9;
/// Quartiles that are further apart, as a share of the median, are said in the tables.
const WIDE: f64 = 0.1;

/// Median and quartiles over the rounds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Spread {
    /// First quartile.
    pub low: f64,
    /// Median.
    pub median: f64,
    /// Third quartile.
    pub high: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let [low, median, high] = quartiles(values.collect());
        Spread { low, median, high }
    }

    /// Whether the quartiles are so far apart that neighbours may change places in another run.
    pub fn is_wide(&self) -> bool {
        wide([self.low, self.median, self.high])
    }
}

/// Whether quartiles, with the median between them, are so far apart that neighbours may change places.
pub fn wide([low, median, high]: [f64; 3]) -> bool {
    high - low > WIDE * median
}

/// Latency in an open loop, in seconds from the time a request was due.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Latency {
    /// The requested rate, in requests per second.
    pub asked_rate: f64,
    /// The rate that was reached.
    pub rate: Spread,
    /// Mean.
    pub mean: Spread,
    /// Median.
    pub p50: Spread,
    /// 99th percentile.
    pub p99: Spread,
    /// 99.9th percentile.
    pub p999: Spread,
    /// Whether oha or the server did not reach the rate, so that the latency is not meaningful.
    pub rate_missed: bool,
}

/// A row of the ladder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RowReport {
    /// The name in `rows.rs`.
    pub name: String,
    /// A line that describes it.
    pub about: String,
    /// The article's requests per second, relative to Node alone.
    pub article: Option<f64>,
    /// The reason, if it is slower than the row before.
    pub slower_because: Option<String>,
    /// Requests per second in the closed loop.
    pub requests_per_second: Spread,
    /// Requests per second relative to the baseline, round by round.
    pub times_baseline: Spread,
    /// Whether wrk was at its limit, not the server.
    pub limited_by_generator: bool,
    /// CPU time of all its processes per 1000 requests.
    pub cpu_seconds_per_1000: Spread,
    /// Median latency in the closed loop.
    pub saturated_p50: Spread,
    /// 99th percentile in the closed loop.
    pub saturated_p99: Spread,
    /// Latency at the rate that is the same for all rows.
    pub equal: Latency,
    /// Latency at 80 % of its own capacity.
    pub own: Latency,
    /// Mean bytes of a picture.
    pub bytes_per_response: f64,
    /// Peak memory; a shared page counts once.
    pub pss_bytes: Spread,
    /// Peak memory; a shared page counts for each process.
    pub rss_bytes: Spread,
    /// Requests answered in all rounds and phases.
    pub requests: f64,
    /// Requests that failed.
    pub errors: u64,
}

impl RowReport {
    /// The description, with the reason if it is slower than the row before.
    pub fn explained(&self) -> String {
        match &self.slower_because {
            None => self.about.clone(),
            Some(why) => format!("{}. Slower than the row before: {why}", self.about),
        }
    }
}

/// The whole report: `target/ladder/ladder.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The day of the run.
    pub date: String,
    /// Number and model of the processors, and the kernel.
    pub machine: String,
    /// Versions of what was measured and of the tools.
    pub versions: Vec<String>,
    /// How it was measured.
    pub method: String,
    /// How often each row ran.
    #[serde(default)]
    pub rounds: usize,
    /// The rows, in the order of the ladder.
    pub rows: Vec<RowReport>,
}

impl Report {
    /// Sums the rounds up.
    pub fn new(rows: &[Row], rounds: &[Vec<Measured>], plan: &Plan) -> Self {
        let of = |name| rows.iter().position(|row| row.name == name).map(|i| &rounds[i]);
        let rate = |rounds: Option<&Vec<Measured>>| {
            let closed = |m: &Measured| m.closed.requests_per_second;
            rounds.map(|rounds| rounds.iter().map(closed).collect::<Vec<_>>()).unwrap_or_default()
        };
        let (baseline, ceiling) = (rate(of(BASELINE)), rate(of(CEILING)));
        let ceiling = ceiling.iter().copied().fold(f64::INFINITY, f64::min);
        let row =
            |(row, rounds): (&Row, &Vec<Measured>)| row_report(row, rounds, &baseline, ceiling);
        Report {
            date: said("date", &["-u", "+%Y-%m-%d"]),
            machine: machine(),
            versions: versions(),
            method: method(plan),
            rounds: plan.rounds,
            rows: explained(rows, rows.iter().zip(rounds).map(row).collect()),
        }
    }

    /// The row that all others are compared with.
    pub fn baseline(&self) -> Option<&RowReport> {
        self.rows.iter().find(|row| row.name == BASELINE)
    }

    /// All rows except the ceiling.
    pub fn rungs(&self) -> impl Iterator<Item = &RowReport> {
        self.rows.iter().filter(|row| row.name != CEILING)
    }
}

fn row_report(row: &Row, rounds: &[Measured], baseline: &[f64], ceiling: f64) -> RowReport {
    let over = |value: fn(&Measured) -> f64| Spread::of(rounds.iter().map(value));
    let rate = over(|m| m.closed.requests_per_second);
    let pairs = rounds.iter().zip(baseline);
    let times_baseline = match baseline {
        [] => Spread { low: f64::NAN, median: f64::NAN, high: f64::NAN },
        _ => Spread::of(pairs.map(|(mine, base)| mine.closed.requests_per_second / base)),
    };
    let loads = || rounds.iter().flat_map(|m| [&m.closed, &m.open_equal, &m.open_own]);
    RowReport {
        name: row.name.to_owned(),
        about: row.about.to_owned(),
        article: row.article,
        slower_because: None,
        requests_per_second: rate,
        times_baseline,
        limited_by_generator: row.name == CEILING || rate.median > LIMITED * ceiling,
        cpu_seconds_per_1000: over(|m| m.cpu_seconds_per_1000),
        saturated_p50: over(|m| m.closed.p50_seconds),
        saturated_p99: over(|m| m.closed.p99_seconds),
        equal: latency(rounds, |m| (m.asked_rates[0], &m.open_equal)),
        own: latency(rounds, |m| (m.asked_rates[1], &m.open_own)),
        bytes_per_response: over(|m| m.bytes_per_response).median,
        pss_bytes: over(|m| m.memory.pss_bytes as f64),
        rss_bytes: over(|m| m.memory.rss_bytes as f64),
        requests: loads().map(|load| load.requests).sum(),
        errors: loads().map(|load| load.errors).sum(),
    }
}

/// Adds the reason to each row that is slower than the row before.
fn explained(rows: &[Row], mut reports: Vec<RowReport>) -> Vec<RowReport> {
    let mut before = 0.0;
    for (row, report) in rows.iter().zip(&mut reports) {
        let rate = report.requests_per_second.median;
        if row.name != CEILING {
            let slower = rate < before;
            report.slower_because = slower.then(|| row.slower_because.to_owned());
            before = rate;
        }
    }
    reports
}

fn latency(rounds: &[Measured], phase: fn(&Measured) -> (f64, &Load)) -> Latency {
    let over = |value: fn(&Load) -> f64| Spread::of(rounds.iter().map(|m| value(phase(m).1)));
    let asked_rate = Spread::of(rounds.iter().map(|m| phase(m).0)).median;
    let rate = over(|load| load.requests_per_second);
    Latency {
        asked_rate,
        rate,
        mean: over(|load| load.mean_seconds),
        p50: over(|load| load.p50_seconds),
        p99: over(|load| load.p99_seconds),
        p999: over(|load| load.p999_seconds),
        rate_missed: rate.median < LIMITED * asked_rate,
    }
}

fn method(plan: &Plan) -> String {
    let rounds = match plan.rounds {
        1 => "One round".to_owned(),
        rounds => format!("{rounds} rounds"),
    };
    format!(
        "{rounds}. In each round, every row's server ran alone on core {} and was warmed up for {} s. \
         From core {}, over {} connections, wrk loaded it for {} s as fast as it answered. Then oha \
         loaded it at two fixed rates for {} s each: half of {BASELINE}'s capacity, the same rate for \
         all rows, and 80 % of the row's own capacity. Latency at fixed rates counts from the time a \
         request was due. Texts: {}. Pictures of {CHECKED} of them were decoded before and after the \
         load; the bytes are their mean size. All figures are medians over the rounds; memory is the \
         peak over the process tree, sampled every 250 ms. Only the row nginx+qr-service logged every request. \
         Ratios hold on other machines, absolute figures do not.",
        plan.server_cores.list(),
        plan.warm_up_seconds,
        plan.load_cores.list(),
        plan.connections,
        plan.closed_seconds,
        plan.open_seconds,
        texts::MIX,
    )
}

pub(crate) fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let models: Vec<&str> =
        info.lines().filter_map(|line| line.strip_prefix("model name")).collect();
    let model =
        models.first().map_or("unknown processor", |model| model.trim_matches([' ', '\t', ':']));
    // A distribution's or provider's suffix of the kernel says nothing about the figures.
    let kernel = said("uname", &["-sr"]);
    let kernel = kernel.split('-').next().unwrap_or_default();
    format!("{} x {model}, {kernel}", models.len().max(1))
}

fn versions() -> Vec<String> {
    let first_line = |text: String| text.lines().next().unwrap_or_default().trim().to_owned();
    let wrk = first_line(said("wrk", &["--version"]));
    vec![
        format!("qr-service {}", env!("CARGO_PKG_VERSION")),
        said("rustc", &["--version"]),
        format!("node {}", said("node", &["--version"])),
        first_line(said("nginx", &["-v"])),
        wrk.split(" Copyright").next().unwrap_or_default().to_owned(),
        first_line(said("oha", &["--version"])),
    ]
}

/// A program's output; empty if the program is missing.
pub(crate) fn said(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output();
    let said = output.map(|output| [output.stdout, output.stderr].concat()).unwrap_or_default();
    String::from_utf8_lossy(&said).trim().to_owned()
}
