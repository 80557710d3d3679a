//! Code that all programs here share: settings, listeners, health, metrics and logs.
//!
//! [`arguments`] reads flags and environment variables; command-line tools use it alone. With the
//! feature `server`, [`serve`] serves a service's routes on one listener and its [`Admin`] routes on
//! another until it is told to stop. The README has an example.

mod address;
pub mod arguments;
#[cfg(feature = "server")]
mod error;
mod ports;
#[cfg(feature = "server")]
mod server;
#[cfg(feature = "testing")]
#[path = "../tests/support/testing.rs"]
pub mod testing;

#[cfg(feature = "server")]
pub use error::Error;
pub use ports::{free_address, free_addresses};
#[cfg(feature = "server")]
pub use server::*;

pub use address::{ListenAddr, SocketPath};

/// Histogram bounds of all durations, in seconds. They begin at 50 µs: the libraries' defaults begin at 5 ms and would
/// hide the whole difference between the two sides. The legacy app has the same buckets.
pub const DURATION_BUCKETS: [f64; 15] = [
    0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0,
    2.5,
];

#[cfg(all(doctest, feature = "server"))]
#[doc = include_str!("../README.md")]
struct Readme;
