//! The relay and its homes as processes, alone and behind nginx.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod contract;
mod holds;
mod hostile;
mod http2;
mod nginx;
mod nginx_clients;
mod pairing;
mod service;
mod support;
