//! Plots as SVG, light or dark by the reader's setting.

use std::fmt::Write as _;

use super::markdown::{megabytes, number, time};
use super::{Report, RowReport};

/// Of every plot.
pub const WIDTH: f64 = 780.0;
const NAMES: f64 = 170.0;
const PLOT: f64 = 480.0;
const LINE: f64 = 22.0;
const HEAD: f64 = 34.0;

/// The styles of a page or a picture with plots.
pub const STYLE: &str = "\
:root{--ink:#1f2328;--faint:#59636e;--grid:#d1d9e0;--bar:#0a7d5a;--base:#b35900;--paper:#fff}\
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--faint:#9198a1;--grid:#3d444d;--bar:#3fb68b;\
--base:#f0883e;--paper:#0d1117}}\
svg text{font:13px system-ui,sans-serif;fill:var(--ink)}svg .faint{fill:var(--faint);font-size:12px}\
svg .title{font-weight:600}svg .bar{fill:var(--bar)}svg .base{fill:var(--base)}\
svg .grid{stroke:var(--grid)}svg .range{stroke:var(--bar);stroke-width:4}\
svg .range.base{stroke:var(--base)}";

/// A row's value, and its format.
type Value = (fn(&RowReport) -> f64, fn(f64) -> String);

/// The plots of a report: height and SVG.
pub fn plots(report: &Report) -> Vec<(f64, String)> {
    let bars = |title, value: Value| bars(report, title, value, None);
    vec![
        self::bars(
            report,
            "Requests per second, logarithmic",
            (|row| row.requests_per_second.median, number),
            Some(|row| row.times_baseline.median),
        ),
        bars("Memory, PSS in MB, logarithmic", (|row| row.pss_bytes.median, megabytes)),
        bars("Bytes of a picture, logarithmic", (|row| row.bytes_per_response, number)),
        bars(
            "CPU seconds per 1000 requests, logarithmic",
            (|row| row.cpu_seconds_per_1000.median, |value| format!("{value:.4}")),
        ),
        ranges(report, "Latency at the same rate: p50 to p99.9, logarithmic"),
    ]
}

/// One picture of the plots with the indices `wanted`.
pub fn picture(report: &Report, wanted: &[usize]) -> String {
    let plots = plots(report);
    let chosen: Vec<&(f64, String)> = wanted.iter().filter_map(|&at| plots.get(at)).collect();
    let height: f64 = chosen.iter().map(|(height, _)| height).sum();
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\
         <style>{STYLE}</style><rect width=\"100%\" height=\"100%\" fill=\"var(--paper)\"/>"
    );
    let mut top = 0.0;
    for (height, plot) in chosen {
        let _ = write!(out, "<g transform=\"translate(0 {top})\">{plot}</g>");
        top += height;
    }
    out + "</svg>\n"
}

/// A logarithmic scale between the powers of ten around all values.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn around(values: &[f64]) -> Self {
        let finite = || values.iter().copied().filter(|value| value.is_finite() && *value > 0.0);
        let low = finite().fold(f64::INFINITY, f64::min).log10().floor();
        let high = finite().fold(0.0, f64::max).log10().ceil();
        let empty = !low.is_finite() || !high.is_finite();
        if empty { Scale { low: 0.0, high: 1.0 } } else { Scale { low, high: high.max(low + 1.0) } }
    }

    /// The distance of `value` from the left edge of the plot, in px.
    fn x(&self, value: f64) -> f64 {
        PLOT * ((value.log10() - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    fn grid(&self, height: f64) -> String {
        let mut out = String::new();
        for power in self.low as i32..=self.high as i32 {
            let x = NAMES + self.x(10_f64.powi(power));
            let _ = write!(
                out,
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{HEAD}\" y2=\"{height}\"/>"
            );
        }
        out
    }
}

fn frame(
    report: &Report,
    title: &str,
    scale: &Scale,
    mut line: impl FnMut(&RowReport, f64) -> String,
) -> (f64, String) {
    let rows = report.rungs().count() as f64;
    let bottom = HEAD + rows * LINE;
    let mut out =
        format!("<text class=\"title\" x=\"4\" y=\"20\">{title}</text>{}", scale.grid(bottom));
    for (i, row) in report.rungs().enumerate() {
        let y = HEAD + i as f64 * LINE;
        let _ =
            write!(out, "<text x=\"4\" y=\"{:.1}\">{}</text>{}", y + 15.0, row.name, line(row, y));
    }
    (bottom + 16.0, out)
}

fn class(row: &RowReport, class: &str) -> String {
    format!("{class}{}", if row.name == crate::rows::BASELINE { " base" } else { "" })
}

/// `times` is a row's ratio to the baseline if it was measured as such, round by round.
fn bars(
    report: &Report,
    title: &str,
    (value, write): Value,
    times: Option<fn(&RowReport) -> f64>,
) -> (f64, String) {
    let scale = Scale::around(&report.rungs().map(value).collect::<Vec<_>>());
    let base = report.baseline().map(value);
    frame(report, title, &scale, |row, y| {
        let relative = base.map_or(String::new(), |base| {
            let times = times.map_or_else(|| value(row) / base, |times| times(row));
            format!(" ({} ×)", number(times))
        });
        let (value, width) = (value(row), scale.x(value(row)).max(1.0));
        format!(
            "<rect class=\"{}\" x=\"{NAMES}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"14\" rx=\"2\"/>\
             <text class=\"faint\" x=\"{:.1}\" y=\"{:.1}\">{}{relative}</text>",
            class(row, "bar"),
            y + 3.0,
            NAMES + width + 6.0,
            y + 15.0,
            write(value),
        )
    })
}

fn ranges(report: &Report, title: &str) -> (f64, String) {
    let ends = |row: &RowReport| [row.equal.p50.median, row.equal.p999.median];
    let scale = Scale::around(&report.rungs().flat_map(ends).collect::<Vec<_>>());
    frame(report, title, &scale, |row, y| {
        let [low, high] = ends(row);
        let middle = y + 10.0;
        format!(
            "<line class=\"{}\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{middle}\" y2=\"{middle}\"/>\
             <circle class=\"{}\" cx=\"{:.1}\" cy=\"{middle}\" r=\"5\"/>\
             <text class=\"faint\" x=\"{:.1}\" y=\"{:.1}\">{} / {} / {}</text>",
            class(row, "range"),
            NAMES + scale.x(low),
            NAMES + scale.x(high),
            class(row, "bar"),
            NAMES + scale.x(row.equal.p99.median),
            NAMES + scale.x(high) + 8.0,
            y + 15.0,
            time(low),
            time(row.equal.p99.median),
            time(high),
        )
    })
}
