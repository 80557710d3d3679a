//! `qr-core` for JavaScript: a native addon of Node.js with the feature `node`, a Wasm module with `wasm`.
//!
//! Both have a [`request::Request`] with its defaults and ranges, and the [`mistake::Mistake`]s in it. Reading
//! values from JavaScript and throwing errors there differs between the two.

pub mod mistake;
#[cfg(feature = "node")]
pub mod node;
pub mod request;
#[cfg(feature = "wasm")]
pub mod wasm;
