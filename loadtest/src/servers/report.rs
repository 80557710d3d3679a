//! Sums up the rounds of every group: one shape of JSON, one table.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use qr_bench::turns::quartiles;
use serde::{Deserialize, Serialize};

use crate::servers::check::CHECKED;
use crate::servers::ladder::Climbed;
use crate::servers::plan::{Figures, Plan};
use crate::servers::rows::{Group, Row, Text};
use crate::texts;

/// A server that used less of its cores than this waited for something else. A row that got less than this share of
/// the requested rate has missed it.
const BUSY: f64 = 0.95;
const REACHED: f64 = 0.9;
/// Quartiles that are further apart, as a share of the median, are marked in the tables.
const WIDE: f64 = 0.1;
const NOTES: [(char, &str); 3] = [
    ('†', "the server used less than 95 % of its cores: something else was the limit"),
    ('‡', "the rate was not reached"),
    ('§', "quartiles more than 10 % apart"),
];

/// A column of a table: one figure, or several beside each other.
#[derive(Clone, Copy)]
pub struct Column {
    /// Its heading.
    pub title: Text,
    /// The names of its figures.
    pub figures: &'static [Text],
    /// How a figure is written.
    pub format: fn(f64) -> String,
}

const fn column(title: Text, figures: &'static [Text], format: fn(f64) -> String) -> Column {
    Column { title, figures, format }
}

const RATE: Column = column("requests/s", &["requests_per_second"], number);
const BYTES: Column = column("bytes", &["bytes_per_response"], number);
const PSS: Column = column("PSS MB", &["pss_bytes"], megabytes);
const CPU: Column = column("CPU a request", &["cpu_seconds_per_request"], time);
const QRCODE: [Column; 8] = [
    RATE,
    column("times node", &["times_baseline"], number),
    column("article", &["article"], number),
    CPU,
    column("p50 / p99 / p99.9 at the same rate", &["equal_p50", "equal_p99", "equal_p999"], time),
    column("p99 at 80 % of its own", &["own_p99"], time),
    BYTES,
    PSS,
];
const ARTICLE: Column = column("the article's", &["article"], number);
const P99: Column = column("p99 at the same rate", &["equal_p99"], time);
const PAGE: [Column; 6] = [RATE, QRCODE[1], ARTICLE, P99, BYTES, PSS];
const OWN: Column = column("times its own", &["times_baseline"], number);
const LANGUAGES: [Column; 7] = [RATE, OWN, CPU, QRCODE[4], QRCODE[5], BYTES, PSS];
const FLOORS: [Column; 6] = [
    RATE,
    column("times hyper", &["times_baseline"], number),
    CPU,
    column("p50 / p99", &["saturated_p50", "saturated_p99"], time),
    column("cores used", &["busy"], number),
    PSS,
];
const RELAY: [Column; 7] = [
    column("length, n = 1: GB a CPU second / a second", &["length1_cpu", "length1"], gigabytes),
    column("chunked, n = 1", &["chunked1_cpu", "chunked1"], gigabytes),
    column("length, n = 3", &["length3_cpu", "length3"], gigabytes),
    column("chunked, n = 3", &["chunked3_cpu", "chunked3"], gigabytes),
    column("pairing p50 / p99", &["paired_p50", "paired_p99"], time),
    column("1000 bytes p50 / p99", &["whole_p50", "whole_p99"], time),
    PSS,
];
const NGINX: [Column; 2] = [
    column("instructions a request", &["instructions"], number),
    column("times ours", &["times_baseline"], number),
];

impl Group {
    /// The columns of the group's table. Rows are compared by the first one.
    pub fn columns(self) -> &'static [Column] {
        match self {
            Group::Qrcode => &QRCODE,
            Group::Relay => &RELAY,
            Group::Floors => &FLOORS,
            Group::Nginx => &NGINX,
            Group::Languages => &LANGUAGES,
        }
    }
}

/// A row: its figures by name, as quartiles over the rounds. Figures that a row does not have are missing. Units are in
/// the names; otherwise they are seconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RowReport {
    pub(crate) name: String,
    about: String,
    figures: BTreeMap<String, [f64; 3]>,
}

impl RowReport {
    /// The median of a figure; NaN if the row has none.
    pub(crate) fn median(&self, figure: &str) -> f64 {
        self.figures.get(figure).map_or(f64::NAN, |quartiles| quartiles[1])
    }
}

/// The report of a group: `target/ladder/GROUP.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    group: Group,
    date: String,
    machine: String,
    versions: Vec<String>,
    method: String,
    rounds: usize,
    pub(crate) rows: Vec<RowReport>,
    /// Rows that could not be started, and why.
    left_out: Vec<String>,
}

impl Report {
    /// The page with the ladder, in `docs/`.
    pub const PAGE: Text = "choosing-a-rung.md";
    /// The page's picture.
    pub const PICTURE: Text = "ladder.svg";
    /// The figures of the run that page and picture show.
    pub const KEPT: Text = "ladder.json";

    /// Reads a report that was written as JSON. An error names the file.
    pub fn read(json: &Path) -> anyhow::Result<Self> {
        let name = || json.display().to_string();
        let text = fs::read_to_string(json).with_context(name)?;
        serde_json::from_str(&text).with_context(name)
    }

    /// Sums the rounds up.
    pub fn new(climbed: &Climbed, plan: &Plan) -> Self {
        Report {
            group: plan.group,
            date: said("date", &["-u", "+%Y-%m-%d"]),
            machine: machine(),
            versions: versions(),
            method: method(plan),
            rounds: plan.rounds,
            rows: climbed.rows.iter().map(|(row, rounds)| row_report(row, rounds)).collect(),
            left_out: climbed.left_out.clone(),
        }
    }

    /// The whole report in Markdown.
    pub fn markdown(&self) -> String {
        let mut out = self.table(self.group.columns(), |_| true);
        out.push('\n');
        for row in &self.rows {
            let _ = writeln!(out, "- `{}`: {}", row.name, row.about);
        }
        for line in &self.left_out {
            let _ = writeln!(out, "- Left out: {line}");
        }
        let versions = self.versions.join(", ");
        let _ = writeln!(out, "\n{}\n\n{}; {}; {versions}.", self.method, self.date, self.machine);
        out
    }

    /// A table with these columns of these rows, and a line that explains its marks.
    fn table(&self, columns: &[Column], wanted: fn(&RowReport) -> bool) -> String {
        let titles: Vec<&str> = columns.iter().map(|column| column.title).collect();
        let mut out =
            format!("| | {} |\n| --- |{}\n", titles.join(" | "), " ---: |".repeat(titles.len()));
        for row in self.rows.iter().filter(|row| wanted(row)) {
            let cells: Vec<String> = columns.iter().map(|column| cell(row, column)).collect();
            let _ = writeln!(out, "| {} | {} |", row.name, cells.join(" | "));
        }
        let used = NOTES.iter().filter(|(mark, _)| out.contains(*mark));
        let notes: Vec<String> = used.map(|(mark, note)| format!("{mark} {note}.")).collect();
        if !notes.is_empty() {
            let _ = writeln!(out, "\n{}", notes.join(" "));
        }
        out
    }

    /// Replaces the table between the marks of docs/choosing-a-rung.md. Fails if the marks or a row of the group are
    /// missing.
    pub fn into_page(&self, page: &str) -> anyhow::Result<String> {
        const BEGIN: &str = "<!-- ladder: written by `make ladder ARGS=page` -->";
        const END: &str = "<!-- /ladder -->";
        ensure!(self.rows.len() == self.group.rows().len(), "the last run lacks rows of the group");
        let (before, rest) = page.split_once(BEGIN).context("no mark for the ladder")?;
        let (_, after) = rest.split_once(END).context("the ladder's mark has no end")?;
        let table = self.table(&PAGE, |row| !AS_PEERS.contains(&row.name.as_str()));
        let (rounds, date, machine) = (self.rounds, &self.date, &self.machine);
        Ok(format!(
            "{before}{BEGIN}\n\n![The ladder](ladder.svg)\n\n{table}\nOne core for the server, 100 connections; medians of \
             {rounds} rounds, of the rounds' ratios for `times node`; `make ladder` on\n{date}, {machine}.\n\n{END}{after}"
        ))
    }
}

/// Rows that are in the full table only: the load generator's limit, and servers with options.
pub const AS_PEERS: [&str; 3] = ["static", "v1-qr", "quickchart"];

fn row_report(row: &Row, rounds: &[Figures]) -> RowReport {
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (name, value) in rounds.iter().flatten() {
        values.entry((*name).to_owned()).or_default().push(*value);
    }
    RowReport {
        name: row.name.to_owned(),
        about: row.about.to_owned(),
        figures: values.into_iter().map(|(name, values)| (name, quartiles(values))).collect(),
    }
}

fn cell(row: &RowReport, column: &Column) -> String {
    let first = column.figures[0];
    if !column.figures.iter().any(|figure| row.figures.contains_key(*figure)) {
        return String::new();
    }
    let values = column.figures.iter().map(|figure| (column.format)(row.median(figure)));
    let mut cell = values.collect::<Vec<_>>().join(" / ");
    if first == "requests_per_second" && row.median("busy") < BUSY {
        cell += " †";
    }
    for phase in ["equal", "own"] {
        let [asked, rate] = ["asked", "rate"].map(|it| row.median(&format!("{phase}_{it}")));
        if first.starts_with(phase) && rate < REACHED * asked {
            cell += " ‡";
        }
    }
    let [low, median, high] = row.figures.get(first).copied().unwrap_or([f64::NAN; 3]);
    if first == "requests_per_second" && high - low > WIDE * median {
        cell += " §";
    }
    cell
}

fn method(plan: &Plan) -> String {
    let (servers, clients, texts) = (plan.server_cores.list(), plan.load_cores.list(), texts::MIX);
    let Plan { rounds, warm_up_seconds, closed_seconds, open_seconds, connections, .. } = plan;
    let wrk = format!(
        "{warm_up_seconds} s of warm-up, {closed_seconds} s of wrk on core {clients} over {connections} kept connections"
    );
    let how = match plan.group {
        Group::Qrcode | Group::Languages => format!(
            "{wrk}, as fast as it answered; then {open_seconds} s each at half of {}'s capacity, the same rate for all rows, \
             and at 80 % of its own. Latency at fixed rates counts from the time a request was due. Texts: {texts}. Pictures \
             of {CHECKED} of them were decoded before and after. Only the row nginx+qr-service logged every request",
            if plan.group == Group::Qrcode { "node" } else { "the language's own rung" }
        ),
        Group::Floors => {
            format!("{wrk}, with one request again and again, whose answer was checked")
        }
        Group::Relay => format!(
            "transfers of about {closed_seconds} s of zeros in pieces of 64 KiB, and 100 pairs of 1000 bytes, one after the \
             other. Bytes are those that receivers got"
        ),
        Group::Nginx => format!(
            "instructions by callgrind, without the kernel's: of a run with {} requests more than another",
            plan.counted
        ),
    };
    format!(
        "Rounds: {rounds}. In each, every row alone on core {servers}: {how}. Figures are medians over the rounds; memory is \
         the peak over the process tree, sampled every 250 ms."
    )
}

fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let models: Vec<&str> =
        info.lines().filter_map(|line| line.strip_prefix("model name")).collect();
    let model =
        models.first().map_or("unknown processor", |model| model.trim_matches([' ', '\t', ':']));
    // The kernel's suffix by a distribution or provider does not matter for the figures.
    let kernel = said("uname", &["-sr"]);
    let kernel = kernel.split('-').next().unwrap_or_default();
    format!("{} x {model}, {kernel}", models.len().max(1))
}

fn versions() -> Vec<String> {
    let asked =
        [("rustc", "--version"), ("node", "--version"), ("nginx", "-v"), ("wrk", "--version")];
    let version = |(program, argument)| {
        let said = said(program, &[argument]);
        let line = said.lines().next().unwrap_or_default().trim_start_matches(program);
        format!("{program} {}", line.split(" Copyright").next().unwrap_or_default().trim())
    };
    asked.into_iter().map(version).collect()
}

/// A program's output; empty if the program is missing.
fn said(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output();
    let said = output.map(|output| [output.stdout, output.stderr].concat()).unwrap_or_default();
    String::from_utf8_lossy(&said).trim().to_owned()
}

/// Formats seconds with a suitable unit.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s.is_nan() => "-".to_owned(),
        s if s < 0.000_1 => format!("{:.1} µs", s * 1e6),
        s if s < 0.001 => format!("{:.0} µs", s * 1e6),
        s if s < 0.1 => format!("{:.1} ms", s * 1e3),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s => format!("{s:.1} s"),
    }
}

/// Formats a number with about three significant digits.
pub fn number(value: f64) -> String {
    match value {
        v if v.is_nan() => "-".to_owned(),
        v if v < 10.0 => format!("{v:.2}"),
        v if v < 100.0 => format!("{v:.1}"),
        v => {
            let digits = format!("{v:.0}");
            let parts: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
            String::from_utf8_lossy(&parts.join(&b',')).into_owned()
        }
    }
}

/// Formats bytes as MB.
pub fn megabytes(bytes: f64) -> String {
    format!("{:.1}", bytes / 1e6)
}

fn gigabytes(bytes: f64) -> String {
    if bytes.is_nan() { "-".to_owned() } else { format!("{:.2}", bytes / 1e9) }
}
