//! Tests that wait for minutes of samples and use little CPU. In one program they run side by side.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "cargo test reads it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cluster;
mod dashboards;
mod guide;
#[path = "../support/prometheus.rs"]
mod prometheus;
mod readme;
mod shell;
#[path = "../support/mod.rs"]
mod support;
mod your_own_route;
