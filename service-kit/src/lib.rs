//! What every program here has besides its own job.
//!
//! [`arguments`] reads flags and environment variables; command-line tools use it alone. With the
//! feature `server`, [`serve`] serves a service's routes on one listener and its [`Admin`] routes on
//! another until it is told to stop.

#[cfg(feature = "server")]
pub mod admin;
#[cfg(all(feature = "server", target_env = "musl"))]
mod allocator;
pub mod arguments;
#[cfg(feature = "server")]
mod connection;
#[cfg(feature = "server")]
pub mod metrics;
#[cfg(feature = "server")]
mod process_metrics;
#[cfg(feature = "server")]
mod serve;
#[cfg(feature = "server")]
mod shutdown;
#[cfg(feature = "server")]
pub mod telemetry;
#[cfg(feature = "testing")]
pub mod testing;

#[cfg(feature = "server")]
pub use admin::Admin;
#[cfg(feature = "server")]
pub use connection::Timeouts;
#[cfg(feature = "server")]
pub use serve::{Listeners, Serving, serve};
#[cfg(feature = "server")]
pub use shutdown::shutdown_signal;
