//! The report as a single HTML page without other files.

use std::fmt::Write as _;

use super::markdown::{megabytes, number, time};
use super::{Report, RowReport, svg};

pub(crate) const STYLE: &str = "\
body{margin:2rem auto;max-width:60rem;padding:0 1rem;font:16px/1.5 system-ui,sans-serif;\
background:var(--paper);color:var(--ink)}\
h1{font-size:1.6rem}h2{font-size:1.15rem;margin-top:2rem}\
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;white-space:nowrap}\
th,td{padding:.3rem .6rem;text-align:right;border-bottom:1px solid var(--grid)}\
th:first-child,td:first-child{text-align:left}svg{width:100%;height:auto;display:block}\
small,.faint{color:var(--faint)}tr.base td{color:var(--base)}";

/// The page.
pub fn page(report: &Report) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>The ladder</title>\n\
         <style>{}{STYLE}</style>\n<h1>The ladder: every way to serve /qrcode</h1>\n\
         <p>{}</p>\n",
        svg::STYLE,
        headline(report),
    );
    for (height, plot) in svg::plots(report) {
        let _ =
            writeln!(out, "<svg viewBox=\"0 0 {} {height}\" role=\"img\">{plot}</svg>", svg::WIDTH);
    }
    out.push_str("<h2>All figures</h2>\n");
    out.push_str(&table(report));
    let _ = write!(out, "<h2>Rows</h2>\n<ul>\n");
    for row in &report.rows {
        let _ = writeln!(out, "<li><b>{}</b>: {}</li>", row.name, escaped(&row.explained()));
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

fn headline(report: &Report) -> String {
    let of = |name: &str| report.rows.iter().find(|row| row.name == name);
    let (Some(old), Some(new)) = (report.baseline(), of("qr-service")) else {
        return "Some rows were not measured.".to_owned();
    };
    format!(
        "On one core, qr-service answers {} times the requests of one legacy-node process, with {} % of \
         its memory and {} % of its bytes per picture.",
        number(new.times_baseline.median),
        number(100.0 * new.pss_bytes.median / old.pss_bytes.median),
        number(100.0 * new.bytes_per_response / old.bytes_per_response),
    )
}

const COLUMNS: [&str; 15] = [
    "",
    "requests/s",
    "quartiles",
    "times node",
    "the article's",
    "CPU s per 1000",
    "saturated p50",
    "p99",
    "same rate: mean",
    "p50",
    "p99",
    "p99.9",
    "own 80 %: p99",
    "bytes",
    "PSS / RSS MB",
];

fn table(report: &Report) -> String {
    let mut out = String::from("<div class=\"wide\"><table><thead><tr>");
    COLUMNS.iter().for_each(|name| {
        let _ = write!(out, "<th>{name}</th>");
    });
    out.push_str("</tr></thead><tbody>\n");
    for row in &report.rows {
        let base = row.name == crate::rows::BASELINE;
        let _ = write!(out, "<tr{}>", if base { " class=\"base\"" } else { "" });
        cells(row).iter().for_each(|cell| {
            let _ = write!(out, "<td>{cell}</td>");
        });
        out.push_str("</tr>\n");
    }
    out.push_str(
        "</tbody></table></div>\n<p class=\"faint\">¹ limited by the load generator. ² the rate was not \
         reached, so the latencies are not meaningful. No row had an error.</p>\n",
    );
    out
}

fn cells(row: &RowReport) -> [String; COLUMNS.len()] {
    let mark = |marked: bool, mark: &str| if marked { format!(" {mark}") } else { String::new() };
    let rate = &row.requests_per_second;
    [
        row.name.clone(),
        number(rate.median) + &mark(row.limited_by_generator, "¹"),
        format!("{} – {}", number(rate.low), number(rate.high)),
        number(row.times_baseline.median),
        row.article.map_or(String::new(), |ratio| format!("{ratio:.2}")),
        format!("{:.4}", row.cpu_seconds_per_1000.median),
        time(row.saturated_p50.median),
        time(row.saturated_p99.median),
        time(row.equal.mean.median),
        time(row.equal.p50.median),
        time(row.equal.p99.median),
        time(row.equal.p999.median) + &mark(row.equal.rate_missed, "²"),
        time(row.own.p99.median) + &mark(row.own.rate_missed, "²"),
        number(row.bytes_per_response),
        format!("{} / {}", megabytes(row.pss_bytes.median), megabytes(row.rss_bytes.median)),
    ]
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
