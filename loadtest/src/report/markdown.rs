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
    format!("{}{limited}", number(row.requests_per_second.median))
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
    out.push_str("\n¹ limited by the load generator. ² the rate was not reached.\n");
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
        "\nOne core for the server, 100 connections, `make ladder` on {}, {}.",
        report.date, report.machine
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
}
