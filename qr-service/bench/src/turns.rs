//! Measures several functions in turns, and computes medians and quartiles.

use std::time::{Duration, Instant};

use statrs::statistics::{Data, Median, OrderStatistics};

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
