//! What the counts of two sides say about the new one. Pure: no I/O, no clock.
//!
//! [`gates`] reads what a step must pass. [`bets`] has the statistics; [`trial`] keeps what a run has seen and gives
//! a [`Reading`] for each test. [`simulate`] plays all of it on made-up counts.

pub mod bets;
pub mod gates;
pub mod simulate;
pub mod trial;
mod verdict;

pub use gates::Gates;
pub use verdict::{Judgement, Reading, Verdict};
