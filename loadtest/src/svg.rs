//! The README's picture: bars as SVG, light or dark by the reader's setting.

use std::fmt::Write as _;

use crate::report::{AS_PEERS, Report, RowReport, megabytes, number};

const WIDTH: f64 = 780.0;
const NAMES: f64 = 170.0;
const PLOT: f64 = 480.0;
const LINE: f64 = 22.0;
const HEAD: f64 = 34.0;
const STYLE: &str = "\
:root{--ink:#1f2328;--faint:#59636e;--grid:#d1d9e0;--bar:#0a7d5a;--base:#b35900;--paper:#fff}\
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--faint:#9198a1;--grid:#3d444d;--bar:#3fb68b;\
--base:#f0883e;--paper:#0d1117}}\
svg text{font:13px system-ui,sans-serif;fill:var(--ink)}svg .faint{fill:var(--faint);font-size:12px}\
svg .title{font-weight:600}svg .bar{fill:var(--bar)}svg .base{fill:var(--base)}\
svg .grid{stroke:var(--grid)}";
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

/// A logarithmic scale between the powers of ten around all values.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn around(values: impl Iterator<Item = f64> + Clone) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min).log10().floor();
        let high = values.fold(0.0, f64::max).log10().ceil();
        Scale { low, high: high.max(low + 1.0) }
    }

    /// The distance of `value` from the left edge of the plot, in px.
    fn x(&self, value: f64) -> f64 {
        PLOT * ((value.log10() - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }
}

fn bars(rows: &[&RowReport], (title, figure, write): Plot) -> String {
    let scale = Scale::around(rows.iter().map(|row| row.median(figure)));
    let bottom = HEAD + rows.len() as f64 * LINE;
    let mut out = format!("<text class=\"title\" x=\"4\" y=\"20\">{title}</text>");
    for power in scale.low as i32..=scale.high as i32 {
        let x = NAMES + scale.x(10_f64.powi(power));
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{HEAD}\" y2=\"{bottom}\"/>"
        );
    }
    let base = rows.iter().find(|row| row.name == "node").map(|row| row.median(figure));
    for (at, row) in rows.iter().enumerate() {
        let y = HEAD + at as f64 * LINE;
        let value = row.median(figure);
        // Rates were compared round by round.
        let times = match figure {
            "requests_per_second" => Some(row.median("times_baseline")),
            _ => base.map(|base| value / base),
        };
        let relative = times.map_or(String::new(), |times| format!(" ({} ×)", number(times)));
        let width = scale.x(value).max(1.0);
        let class = if row.name == "node" { "bar base" } else { "bar" };
        let _ = write!(
            out,
            "<text x=\"4\" y=\"{:.1}\">{}</text>\
             <rect class=\"{class}\" x=\"{NAMES}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"14\" rx=\"2\"/>\
             <text class=\"faint\" x=\"{:.1}\" y=\"{:.1}\">{}{relative}</text>",
            y + 15.0,
            row.name,
            y + 3.0,
            NAMES + width + 6.0,
            y + 15.0,
            write(value),
        );
    }
    out
}
