//! The functions to compare ([`makers`]) and the texts to run them on ([`inputs`]).

pub mod inputs;
pub mod makers;

/// First quartile, median, third quartile of at least one value, with straight lines between neighbours: definition 7 of
/// Hyndman and Fan, "Sample Quantiles in Statistical Packages", 1996.
pub fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len() - 1;
    [0.25, 0.5, 0.75].map(|part| {
        let place = part * last as f64;
        let below = values[place as usize];
        let above = values[last.min(place as usize + 1)];
        below + (above - below) * place.fract()
    })
}

/// Gives each of the things a turn to warm up, and then one in each round, so that a machine that drifts drifts
/// for all of them. Returns the quartiles of what their turns returned.
///
/// # Errors
/// The first of a turn.
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
mod tests {
    use super::quartiles;

    #[test]
    fn quartiles_are_as_far_from_the_median_as_the_values_say() {
        assert_eq!(quartiles(vec![5.0]), [5.0, 5.0, 5.0]);
        assert_eq!(quartiles(vec![3.0, 1.0]), [1.5, 2.0, 2.5]);
        assert_eq!(quartiles(vec![30.0, 10.0, 20.0]), [15.0, 20.0, 25.0]);
        assert_eq!(quartiles(vec![4.0, 1.0, 3.0, 2.0, 5.0]), [2.0, 3.0, 4.0]);
    }
}
