//! Shared by the native addon and the Wasm module for JavaScript: a [`Request`] with its defaults
//! and ranges, and the [`Mistake`]s in it. Reading values from JavaScript and throwing errors there
//! differs between the two.

mod mistake;
mod request;

pub use mistake::{Class, Mistake};
pub use qr_core::MAX_TEXT_BYTES;
pub use request::Request;
