//! `qr-service`: `GET /qrcode?text=...` as a service.
//!
//! [`run`] is the whole program; `main.rs` and the example with injected faults call it.

mod access_log;
#[cfg(feature = "api")]
mod api;
mod app;
mod config;
mod engine;
mod error;
#[cfg(feature = "faults")]
pub mod faults;
mod layers;
mod metrics;
mod program;
mod routes;
mod tags;
#[cfg(feature = "api")]
mod v1;

pub use program::run;
