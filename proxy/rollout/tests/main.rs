//! `carve` moves the traffic of a real nginx.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod back_first;
mod cluster;
mod gateway;
mod judge;
mod limits;
mod machines;
mod plan;
mod proxy;
mod report;
mod run;
mod serve;
mod session;
mod split;
mod stop;
mod support;
mod webhooks;
