//! What the programs here share besides their own jobs.
//!
//! [`arguments`] reads flags and environment variables; command-line tools use it alone. With the
//! feature `server`, [`serve`] serves a service's routes on one listener and its [`Admin`] routes on
//! another until it is told to stop. The README has an example.

pub mod arguments;
#[cfg(feature = "server")]
mod server;
#[cfg(feature = "testing")]
pub mod testing;

#[cfg(feature = "server")]
pub use server::*;

#[cfg(all(doctest, feature = "server"))]
#[doc = include_str!("../README.md")]
struct Readme;
