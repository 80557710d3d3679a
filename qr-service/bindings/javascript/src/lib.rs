//! `qr-core` for JavaScript: a native addon of Node.js with the feature `node`, a Wasm module with `wasm`.
//!
//! Both share [`request::Request`] with its defaults and ranges, and [`mistake::Mistake`]. They differ in how they read
//! values from JavaScript and throw errors.

pub mod mistake;
#[cfg(feature = "node")]
pub mod node;
pub mod request;
#[cfg(feature = "wasm")]
pub mod wasm;
