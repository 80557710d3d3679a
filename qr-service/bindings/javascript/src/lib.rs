//! What the native addon and the Wasm module for JavaScript have in common: a [`Request`] with its
//! defaults and ranges, and the [`Mistake`]s that it can be. How values are read out of JavaScript,
//! and errors thrown there, is each one's own.

mod mistake;
mod request;

pub use mistake::{Class, Mistake};
pub use request::{MAX_UNITS, Request};
