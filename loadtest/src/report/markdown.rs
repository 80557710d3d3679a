//! The tables in Markdown, and their place in the README.

use std::fmt::Write as _;

use anyhow::Context;

use super::{Report, RowReport};

const BEGIN: &str = "<!-- ladder: written by `make ladder-readme` -->";
const END: &str = "<!-- /ladder -->";

/// Formats seconds with a suitable unit.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s.is_nan() => "-".to_owned(),
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
            let mut out = String::new();
            for (i, digit) in digits.chars().enumerate() {
                if i > 0 && (digits.len() - i).is_multiple_of(3) {
                    out.push(',');
                }
                out.push(digit);
            }
            out
        }
    }
}

/// Formats bytes as MB.
pub fn megabytes(bytes: f64) -> String {
    format!("{:.1}", bytes / 1e6)
}

fn marks(row: &RowReport) -> String {
    let limited = if row.limited_by_generator { " ¹" } else { "" };
    let wide = if row.requests_per_second.is_wide() { " ³" } else { "" };
    format!("{}{limited}{wide}", number(row.requests_per_second.median))
}

fn own(row: &RowReport) -> String {
    let missed = if row.own.rate_missed { " ²" } else { "" };
    format!("{}{missed}", time(row.own.p99.median))
}

/// The whole report in Markdown.
pub fn full(report: &Report) -> String {
    let mut out = String::from("# The ladder\n\n");
    out.push_str(&table(report));
    let about = report.rows.iter().map(|row| format!("- `{}`: {}\n", row.name, row.explained()));
    let _ = write!(out, "\n{}\n{}\n\n", about.collect::<String>(), report.method);
    let _ = writeln!(out, "{}; {}; {}.", report.date, report.machine, report.versions.join(", "));
    out
}

/// The full table.
pub fn table(report: &Report) -> String {
    let mut out = String::from(
        "| | requests/s | times node | article | CPU s per 1000 | p50 / p99 / p99.9 at the same rate | \
         p99 at 80 % of its own | bytes | PSS MB | RSS MB | errors |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for row in &report.rows {
        let article = row.article.map_or(String::new(), |ratio| format!("{ratio:.2}"));
        let _ = writeln!(
            out,
            "| {} | {} | {} | {article} | {:.4} | {} / {} / {} | {} | {} | {} | {} | {} |",
            row.name,
            marks(row),
            number(row.times_baseline.median),
            row.cpu_seconds_per_1000.median,
            time(row.equal.p50.median),
            time(row.equal.p99.median),
            time(row.equal.p999.median),
            own(row),
            number(row.bytes_per_response),
            megabytes(row.pss_bytes.median),
            megabytes(row.rss_bytes.median),
            row.errors,
        );
    }
    out.push_str("\n¹ limited by the load generator. ² the rate was not reached. ³ quartiles more than 10 % apart.\n");
    out
}

/// The README's table: fewer columns, with date and machine.
pub fn short(report: &Report) -> String {
    let mut out = String::from(
        "| | requests/s | times node | the article's | p99 at the same rate | bytes | PSS MB |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for row in report.rungs() {
        let article = row.article.map_or(String::new(), |ratio| format!("{ratio:.2}"));
        let _ = writeln!(
            out,
            "| {} | {} | {} | {article} | {} | {} | {} |",
            row.name,
            marks(row),
            number(row.times_baseline.median),
            time(row.equal.p99.median),
            number(row.bytes_per_response),
            megabytes(row.pss_bytes.median),
        );
    }
    let _ = writeln!(
        out,
        "\n{}One core for the server, 100 connections, medians of {} rounds, `make ladder` on {}, {}.",
        if report.rungs().any(|row| row.requests_per_second.is_wide()) {
            "³ Quartiles more than 10 % apart. "
        } else {
            ""
        },
        report.rounds,
        report.date,
        report.machine
    );
    out
}

/// Replaces the table between the README's marks.
///
/// # Errors
/// If the marks are missing.
pub fn into_readme(readme: &str, report: &Report) -> anyhow::Result<String> {
    let (before, rest) =
        readme.split_once(BEGIN).context("the README has no mark for the ladder")?;
    let (_, after) = rest.split_once(END).context("the README's mark has no end")?;
    Ok(format!(
        "{before}{BEGIN}\n\n![The ladder](docs/ladder.svg)\n\n{}\n{END}{after}",
        short(report)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_have_three_digits_and_a_unit() {
        assert_eq!(number(1.234), "1.23");
        assert_eq!(number(85_123.4), "85,123");
        assert_eq!(number(1_234_567.0), "1,234,567");
        assert_eq!(time(0.000_25), "250 µs");
        assert_eq!(time(0.0123), "12.3 ms");
        assert_eq!(time(2.5), "2.5 s");
    }

    fn report(low: f64, high: f64) -> Report {
        let spread =
            |low, median, high| serde_json::json!({"low": low, "median": median, "high": high});
        let one = spread(1.0, 1.0, 1.0);
        let latency = serde_json::json!({
            "asked_rate": 1.0, "rate": one, "mean": one, "p50": one, "p99": one, "p999": one, "rate_missed": false,
        });
        let row = serde_json::json!({
            "name": "node", "about": "", "article": null, "slower_because": null,
            "requests_per_second": spread(low, 100.0, high), "times_baseline": one,
            "limited_by_generator": false, "cpu_seconds_per_1000": one, "saturated_p50": one,
            "saturated_p99": one, "equal": latency, "own": latency, "bytes_per_response": 1.0,
            "pss_bytes": one, "rss_bytes": one, "requests": 1.0, "errors": 0,
        });
        let report = serde_json::json!({
            "date": "2026-01-01", "machine": "a machine", "versions": [], "method": "", "rounds": 3, "rows": [row],
        });
        serde_json::from_value(report).expect("a report")
    }

    #[test]
    fn quartiles_that_are_far_apart_are_said_beside_the_row_and_below_the_table() {
        for (table, is_short) in [(short as fn(&Report) -> String, true), (table, false)] {
            let wide = table(&report(94.0, 105.0));
            assert!(wide.contains("| node | 100 ³ |") && wide.contains("³ "), "{wide}");
            let narrow = table(&report(96.0, 105.0));
            assert!(narrow.contains("| node | 100 |"), "{narrow}");
            assert!(!is_short || narrow.contains("medians of 3 rounds"), "{narrow}");
        }
    }
}
