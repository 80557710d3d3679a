//! `qr-service`: `GET /qrcode?text=...` as a service of its own.
//!
//! [`run`] serves the route on one listener and health and metrics on another until told to stop.
//! [`app::router`] is the routes alone, for tests in process.

pub mod access_log;
pub mod app;
pub mod config;
pub mod engine;
mod error;
#[cfg(feature = "faults")]
pub mod faults;
mod layers;
pub mod metrics;
pub mod program;
mod routes;
mod serve;

pub use serve::run;
