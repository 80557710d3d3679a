//! Measures several functions in turns, and shows medians and quartiles.

use std::time::{Duration, Instant};

use anstream::println;
use serde::Serialize;
use statrs::statistics::{Data, Median, OrderStatistics};

/// One figure of a JSON file.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What was made.
    pub format: &'static str,
    /// The function.
    pub name: &'static str,
    /// The kind of text.
    pub input: &'static str,
    /// Median over the rounds, in nanoseconds per call.
    pub ns_per_op: f64,
    /// First and third quartile over the rounds.
    pub ns_spread: [f64; 2],
    /// Median size of the files; `None` for a function that makes none.
    pub bytes: Option<usize>,
}

impl Row {
    /// A row with the quartiles of its times, and the sizes of its files.
    pub fn new(
        (format, name, input): (&'static str, &'static str, &'static str),
        [low, ns_per_op, high]: [f64; 3],
        sizes: impl IntoIterator<Item = usize>,
    ) -> Self {
        let sizes: Vec<f64> = sizes.into_iter().map(|bytes| bytes as f64).collect();
        let bytes = (!sizes.is_empty()).then(|| quartiles(sizes)[1] as usize);
        Row { format, name, input, ns_per_op, ns_spread: [low, high], bytes }
    }
}

/// Prints a table for each format and kind of text, whose rows follow each other. Ratios are to the first row.
pub fn print_table(rows: &[Row]) {
    println!("µs per call, median (quartiles); bytes; ratios to the first row\n");
    for rows in rows.chunk_by(|row, next| (row.format, row.input) == (next.format, next.input)) {
        let first = &rows[0];
        println!("{}, {}", first.format, first.input);
        for row in rows {
            let ratio = |bytes: usize| bytes as f64 / first.bytes.unwrap_or(bytes) as f64;
            let bytes = row.bytes.map(|bytes| format!("{bytes:>7} {:>6.2}x", ratio(bytes)));
            let [low, high] = row.ns_spread.map(|ns| ns / 1e3);
            let (us, ratio) = (row.ns_per_op / 1e3, row.ns_per_op / first.ns_per_op);
            let time = format!("{us:>10.2} ({low:>9.2} - {high:>9.2}) {ratio:>7.1}x");
            println!("  {:<22} {time:>43}  {}", row.name, bytes.unwrap_or_default());
        }
    }
}

/// First quartile, median, third quartile of at least one value.
pub fn quartiles(values: Vec<f64>) -> [f64; 3] {
    let mut values = Data::new(values);
    [values.lower_quartile(), values.median(), values.upper_quartile()]
}

/// Gives each thing one turn to warm up and then one turn in each round, so that if the machine gets slower, it does
/// for all of them. Returns the quartiles of the results of each thing's turns. Fails with the first error of a turn.
pub fn take_turns<T>(
    things: &mut [T],
    rounds: usize,
    mut turn: impl FnMut(&mut T) -> anyhow::Result<f64>,
) -> anyhow::Result<Vec<[f64; 3]>> {
    let mut times = vec![Vec::new(); things.len()];
    for round in 0..=rounds {
        for (thing, times) in things.iter_mut().zip(&mut times) {
            let time = turn(thing)?;
            if round > 0 {
                times.push(time);
            }
        }
    }
    Ok(times.into_iter().map(quartiles).collect())
}

/// Calls `make` with each of the texts again and again for at least `least`. Returns nanoseconds per call.
pub fn time(least: Duration, texts: &[String], mut make: impl FnMut(&str)) -> f64 {
    let (start, mut calls) = (Instant::now(), 0);
    while start.elapsed() < least || calls == 0 {
        texts.iter().for_each(|text| make(text));
        calls += texts.len();
    }
    start.elapsed().as_nanos() as f64 / calls as f64
}

#[cfg(test)]
mod tests;
