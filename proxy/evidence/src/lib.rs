//! What the counts of two sides say about the new one. Pure: no I/O, no clock.
//!
//! [`gates`] reads what a step must pass. [`bets`] has the statistics; [`interval`] is what was counted, [`trial`] keeps what a run has seen and gives
//! a [`Reading`] for each test; [`plan`] plays the steps to come. `examples/simulate` plays ramps, request by request.

mod answers;
pub mod bets;
pub mod gates;
pub mod interval;
pub mod plan;
pub mod trial;
mod verdict;

pub use gates::Gates;
pub use verdict::{Difference, Judgement, Reading, Verdict};
