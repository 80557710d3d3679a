//! The report as a single HTML page without other files.

use std::fmt::Write as _;

use super::report::{Figures, Report, RowReport};
use super::rows::Column;
use crate::report::html::{STYLE, escaped};
use crate::report::markdown::{number, time};
use crate::report::svg;

const NAMES: f64 = 130.0;
const PLOT: f64 = 500.0;
const LINE: f64 = 20.0;
const HEAD: f64 = 30.0;

/// The page: a plot and a table per column and number of connections.
pub fn page(report: &Report) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>The floors</title>\n\
         <style>{}{STYLE}</style>\n<h1>The floors: servers that have nothing to do</h1>\n<p>{}</p>\n",
        svg::STYLE,
        escaped(&report.notes()),
    );
    for &connections in &report.connections {
        let plural = if connections == 1 { "" } else { "s" };
        let _ = writeln!(out, "<h2>{connections} connection{plural}</h2>");
        for &column in &report.columns {
            out.push_str(&plot(report, column, connections));
        }
        out.push_str(&table(report, connections));
    }
    out.push_str("<h2>Rows</h2>\n<ul>\n");
    for row in &report.rows {
        let _ = writeln!(out, "<li><b>{}</b>: {}</li>", row.name, escaped(&row.about));
    }
    for line in &report.left_out {
        let _ = writeln!(out, "<li>Left out: {}</li>", escaped(line));
    }
    let _ = write!(
        out,
        "</ul>\n<h2>Method</h2>\n<p>{}</p>\n<p><small>{}; {}; {}</small></p>\n</html>\n",
        escaped(&report.method),
        report.date,
        escaped(&report.machine),
        escaped(&report.versions.join(", ")),
    );
    out
}

/// Bars from zero, the fastest first, with a line from quartile to quartile.
fn plot(report: &Report, column: Column, connections: usize) -> String {
    let [fastest, _] = report.fastest(column, connections);
    let of = |row| Some((row, RowReport::figures(row, column, connections)?.rate(report.shared)));
    let mut bars: Vec<(&RowReport, [f64; 3])> = report.rows.iter().filter_map(of).collect();
    bars.sort_by(|(_, mine), (_, other)| other[1].total_cmp(&mine[1]));
    if bars.is_empty() {
        return String::new();
    }
    let height = HEAD + LINE * bars.len() as f64 + 8.0;
    let mut out = format!(
        "<svg viewBox=\"0 0 760 {height}\" role=\"img\"><text class=\"title\" x=\"0\" y=\"18\">Requests per second, \
         {}</text>\n",
        column.title()
    );
    let x = |value: f64| NAMES + PLOT * value / fastest;
    for (at, (row, [low, median, high])) in bars.into_iter().enumerate() {
        let top = HEAD + LINE * at as f64;
        let (name, width) = (row.name, PLOT * median / fastest);
        let base = if name == "qr-service" { " base" } else { "" };
        let (baseline, bar, middle) = (top + 12.0, top + 2.0, top + 8.0);
        let (from, to, beside) = (x(low), x(high), x(high) + 8.0);
        let _ = writeln!(
            out,
            "<text x=\"0\" y=\"{baseline}\">{name}</text>\
             <rect class=\"bar{base}\" x=\"{NAMES}\" y=\"{bar}\" width=\"{width:.1}\" height=\"12\"/>\
             <line class=\"grid\" x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"{middle}\" y2=\"{middle}\"/>\
             <text class=\"faint\" x=\"{beside:.1}\" y=\"{baseline}\">{}</text>",
            number(median),
        );
    }
    out + "</svg>\n"
}

fn table(report: &Report, connections: usize) -> String {
    let mut out = String::from("<div class=\"wide\"><table><thead><tr><th></th>");
    for column in &report.columns {
        let by = if report.shared { "requests/s" } else { "by CPU time" };
        let _ = write!(out, "<th>{}</th><th>{by}</th><th>p99</th><th>CPU</th>", column.title());
    }
    out.push_str("<th>runs</th></tr></thead><tbody>\n");
    for row in &report.rows {
        let base = if row.name == "qr-service" { " class=\"base\"" } else { "" };
        let _ = write!(out, "<tr{base}><td>{}</td>", row.name);
        let mut runs = 0;
        for &column in &report.columns {
            let figures = row.figures(column, connections);
            runs = runs.max(figures.map_or(0, |figures| figures.runs));
            let fastest = report.fastest(column, connections);
            let cells = figures.map(|figures| cells(figures, report.shared, fastest));
            out.push_str(&cells.unwrap_or_else(|| "<td></td>".repeat(4)));
        }
        let _ = writeln!(out, "<td>{runs}</td></tr>");
    }
    out + "</tbody></table></div>\n"
}

fn cells(figures: &Figures, shared: bool, [fastest, other]: [f64; 2]) -> String {
    let one = |[low, median, high]: [f64; 3], marks: &str, fastest: f64| {
        format!(
            "<td>{}{marks}, {:.0} %<br><small>{} – {}</small></td>",
            number(median),
            100.0 * median / fastest,
            number(low),
            number(high),
        )
    };
    format!(
        "{}{}<td>{}</td><td>{:.1} µs</td>",
        one(figures.rate(shared), &figures.marks(shared), fastest),
        one(figures.other(shared), "", other),
        time(figures.p99_seconds[1]),
        1e6 * figures.cpu_seconds_per_request[1],
    )
}
