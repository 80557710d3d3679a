//! Judges the new side by the counts of both sides. Pure: no I/O, no clock.
//!
//! [`gates`] reads the gates and tests that a step must pass. [`bets`] and [`keys`] have the statistics and [`interval`] the counts.
//! [`trial`] keeps the evidence of a run and gives a [`Reading`] for each test. [`plan`] estimates the length of steps.
//! `tests/simulate` simulates ramps, request by request.

mod answers;
pub mod bets;
pub mod gates;
pub mod interval;
pub mod keys;
pub mod plan;
mod sample_ratio;
pub mod trial;
mod verdict;

pub use gates::Gates;
pub use verdict::{Difference, Judgement, Reading, Verdict};
