//! nginx as it is configured for route files.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod hosts;
mod listeners;
mod readme;
mod refusals;
mod render;
mod rest;
mod support;
