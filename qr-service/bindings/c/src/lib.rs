//! `qr-core` for languages other than Rust and JavaScript: a C library, or a Wasm module whose functions take only
//! numbers.

#[cfg(not(target_family = "wasm"))]
pub mod c;
pub mod picture;
#[cfg(any(target_family = "wasm", test))]
pub mod wasm;
