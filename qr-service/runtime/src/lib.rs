//! What a service is besides its routes: two listeners, timeouts, drain, health, logs, metrics of the
//! process.
//!
//! [`serve`] serves a service's routes on one listener and its [`Admin`] routes on another until
//! told to stop.

pub mod admin;
#[cfg(target_env = "musl")]
mod allocator;
mod connection;
pub mod metrics;
mod process_metrics;
mod serve;
mod shutdown;
pub mod telemetry;
#[cfg(feature = "testing")]
pub mod testing;

pub use admin::Admin;
pub use connection::Timeouts;
pub use serve::{Listeners, Serving, serve};
pub use shutdown::shutdown_signal;
