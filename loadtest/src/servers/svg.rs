//! The picture of docs/choosing-a-rung.md: bars as SVG, light or dark by the reader's setting.

use std::fmt::Write as _;

use crate::servers::report::{AS_PEERS, Report, RowReport, megabytes, number};

const WIDTH: f64 = 780.0;
const NAMES: f64 = 170.0;
const PLOT: f64 = 480.0;
const LINE: f64 = 22.0;
const HEAD: f64 = 34.0;
const STYLE: &str = "\
:root{--ink:#1f2328;--faint:#59636e;--bar:#0a7d5a;--base:#b35900;--paper:#fff}\
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--faint:#9198a1;--bar:#3fb68b;\
--base:#f0883e;--paper:#0d1117}}\
svg text{font:13px system-ui,sans-serif;fill:var(--ink)}svg .faint{fill:var(--faint);font-size:12px}\
svg .title{font-weight:600}svg .bar{fill:var(--bar)}svg .base{fill:var(--base)}";
/// A plot's title, its figure, and how that is written.
type Plot = (&'static str, &'static str, fn(f64) -> String);
const PLOTS: [Plot; 3] = [
    ("Requests per second, logarithmic", "requests_per_second", number),
    ("Memory, PSS in MB, logarithmic", "pss_bytes", megabytes),
    ("Bytes of a picture, logarithmic", "bytes_per_response", number),
];

/// The picture of the ladder's rows.
pub fn picture(report: &Report) -> String {
    let is_peer = |row: &RowReport| AS_PEERS.contains(&row.name.as_str());
    let rows: Vec<&RowReport> = report.rows.iter().filter(|row| !is_peer(row)).collect();
    let height = HEAD + rows.len() as f64 * LINE + 16.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\">\
         <style>{STYLE}</style><rect width=\"100%\" height=\"100%\" fill=\"var(--paper)\"/>",
        height * PLOTS.len() as f64
    );
    for (at, plot) in PLOTS.iter().enumerate() {
        let top = height * at as f64;
        let _ = write!(out, "<g transform=\"translate(0 {top})\">{}</g>", bars(&rows, *plot));
    }
    out + "</svg>\n"
}

/// Bars on a logarithmic scale between the powers of ten around all values.
fn bars(rows: &[&RowReport], (title, figure, write): Plot) -> String {
    let logs = rows.iter().map(|row| row.median(figure).log10());
    let low = logs.clone().fold(f64::INFINITY, f64::min).floor();
    let high = logs.fold(low + 1.0, f64::max).ceil();
    let x = |value: f64| PLOT * ((value.log10() - low) / (high - low)).clamp(0.0, 1.0);
    let mut out = format!("<text class=\"title\" x=\"4\" y=\"20\">{title}</text>");
    let base =
        rows.iter().find(|row| row.name == "node").map_or(f64::NAN, |row| row.median(figure));
    for (at, row) in rows.iter().enumerate() {
        let (top, value) = (HEAD + at as f64 * LINE, row.median(figure));
        // Rates were compared round by round.
        let is_rate = figure == "requests_per_second";
        let times = if is_rate { row.median("times_baseline") } else { value / base };
        let (name, width) = (&row.name, x(value).max(1.0));
        let class = if name == "node" { "bar base" } else { "bar" };
        let (bar, text, beside) = (top + 3.0, top + 15.0, NAMES + width + 6.0);
        let _ = write!(
            out,
            "<text x=\"4\" y=\"{text:.1}\">{name}</text>\
             <rect class=\"{class}\" x=\"{NAMES}\" y=\"{bar:.1}\" width=\"{width:.1}\" height=\"14\" rx=\"2\"/>\
             <text class=\"faint\" x=\"{beside:.1}\" y=\"{text:.1}\">{} ({} ×)</text>",
            write(value),
            number(times),
        );
    }
    out
}
