//! The table of `make way`, and its JSON.

use std::fmt::Write as _;

use qr_bench::quartiles;
use serde::{Deserialize, Serialize};

use super::Spent;
use crate::report::wide;

/// A row of `way.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// [`super::Way::name`].
    pub name: String,
    /// Not counted for other proxies.
    pub instructions: Option<u64>,
    /// The rest is measured with --rounds.
    #[serde(flatten)]
    pub timed: Option<Timed>,
}

/// Quartiles over the rounds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Timed {
    /// How often it ran.
    pub runs: usize,
    /// Microseconds of processor time.
    pub processor_us: [f64; 3],
    /// Those of qr-service behind it.
    pub behind_us: [f64; 3],
    /// Requests per second of both on the core.
    pub rate: [f64; 3],
    /// The rate as a share of the barest proxy's in the same round, over a port.
    pub of_barest: Option<[f64; 3]>,
    /// The same, over a Unix socket.
    pub of_barest_unix: Option<[f64; 3]>,
}

impl Timed {
    /// Sums up the rounds, beside those of the barest proxies.
    pub fn new(rounds: &[Spent], tcp: Option<&[Spent]>, unix: Option<&[Spent]>) -> Self {
        let all = |of: fn(&Spent) -> f64| quartiles(rounds.iter().map(of).collect());
        let share = |barest: Option<&[Spent]>| {
            let pairs = rounds.iter().zip(barest?);
            Some(quartiles(pairs.map(|(ours, barest)| ours.rate / barest.rate).collect()))
        };
        Timed {
            runs: rounds.len(),
            processor_us: all(|it| 1e6 * it.proxy),
            behind_us: all(|it| 1e6 * it.behind),
            rate: all(|it| it.rate),
            of_barest: share(tcp),
            of_barest_unix: share(unix),
        }
    }
}

/// The rows in Markdown.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| nginx | instructions a request | beside ours | processor time, µs (quartiles) | qr-service's, µs | \
         requests/s of both on a core | of the barest's | of the barest's over a Unix socket | runs |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    let ours = rows.iter().find(|row| row.name == "ours");
    for row in rows {
        let ours = ours.filter(|ours| ours.name != row.name);
        let counts = ours.and_then(|ours| row.instructions.zip(ours.instructions));
        let change = counts.map_or(String::new(), |(count, ours)| {
            format!("{:+.1} %", 100.0 * (count as f64 / ours as f64 - 1.0))
        });
        let count = row.instructions.map_or(String::new(), |count| count.to_string());
        let _ = writeln!(text, "| {} | {count} | {change} | {} |", row.name, cells(row));
    }
    if rows.iter().any(|row| row.timed.is_some()) {
        text += "\n¹ quartiles more than 10 % apart.\n";
    }
    text
}

fn cells(row: &Row) -> String {
    let Some(timed) = &row.timed else { return " |  |  |  |  | ".to_owned() };
    let mark = |quartiles| if wide(quartiles) { " ¹" } else { "" };
    let us = |it: [f64; 3]| {
        let [low, median, high] = it;
        format!("{median:.1} ({low:.1} - {high:.1}){}", mark(it))
    };
    let share = |of: Option<[f64; 3]>| {
        of.map_or(String::new(), |of| {
            let [low, it, high] = of.map(|it| 100.0 * it);
            format!("{it:.0} % ({low:.0} - {high:.0}){}", mark(of))
        })
    };
    let [low, median, high] = timed.rate;
    format!(
        "{} | {} | {median:.0} ({low:.0} - {high:.0}){} | {} | {} | {}",
        us(timed.processor_us),
        us(timed.behind_us),
        mark(timed.rate),
        share(timed.of_barest),
        share(timed.of_barest_unix),
        timed.runs,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(rate: f64) -> Spent {
        Spent { proxy: 2e-5, behind: 1e-5, rate }
    }

    #[test]
    fn a_row_says_how_often_it_ran_and_marks_a_wide_spread() {
        let barest = [100.0, 100.0, 100.0].map(spent);
        let rounds = [60.0, 70.0, 90.0].map(spent);
        let timed = Some(Timed::new(&rounds, Some(&barest), None));
        let rows = [
            Row { name: "ours".to_owned(), instructions: Some(100), timed },
            Row { name: "without".to_owned(), instructions: Some(90), timed: None },
        ];
        let text = table(&rows);
        let ours = "| ours | 100 |  | 20.0 (20.0 - 20.0) | 10.0 (10.0 - 10.0) | 70 (62 - 87) ¹ | 70 % (62 - 87) ¹ |  | 3 |";
        assert!(text.contains(ours), "{text}");
        assert!(text.contains("| without | 90 | -10.0 % |  |  |  |  |  |  |\n"), "{text}");
        assert!(text.ends_with("apart.\n") && !table(&rows[1..]).contains('¹'), "{text}");
        let again: Vec<Row> =
            serde_json::from_str(&serde_json::to_string(&rows).expect("JSON")).expect("rows");
        assert_eq!(again[0].timed.as_ref().map(|timed| timed.runs), Some(3));
        assert!(again[1].timed.is_none());
    }
}
