//! `qr-core` for callers that know neither Rust nor JavaScript: a C library, or a Wasm module with numbers alone.

#[cfg(not(target_family = "wasm"))]
pub mod c;
#[cfg(any(target_family = "wasm", test))]
pub mod wasm;
