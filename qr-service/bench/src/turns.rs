//! Measures several functions in turns, and computes medians and quartiles.

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

#[cfg(test)]
mod tests;
