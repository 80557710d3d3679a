//! What is measured ([`makers`]) and on what ([`inputs`]); the programs differ in how.

pub mod inputs;
pub mod makers;

/// First quartile, median, third quartile of at least one value.
pub fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_unstable_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[quarter * (values.len() - 1) / 4])
}
