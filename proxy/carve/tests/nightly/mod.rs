//! Tests that wait for minutes of samples and use little CPU.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "cargo test reads it")]

mod cluster;
mod dashboards;
mod guide;
mod judgement;
mod readme;
mod relay_ramp;
mod shell;
mod your_own_route;
