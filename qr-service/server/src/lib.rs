//! `qr-service`: `GET /qrcode?text=...` as a service of its own.
//!
//! [`run`] serves the route on one listener and health and metrics on another until told to stop.
//! [`app::router`] is the routes alone, for tests in process.

pub mod admin;
pub mod app;
pub mod config;
mod connection;
mod error;
mod layers;
pub mod metrics;
mod process_metrics;
mod query;
mod routes;
pub mod serve;
pub mod telemetry;

pub use serve::{Listeners, run};
