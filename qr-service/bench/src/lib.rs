//! The functions to compare ([`makers`]) and the texts to run them on ([`inputs`]).

pub mod inputs;
pub mod makers;

/// First quartile, median, third quartile of at least one value.
pub fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_unstable_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[quarter * (values.len() - 1) / 4])
}
