//! `qr-draw` as a program.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod definition;
mod input;
mod output;
mod pictures;
mod support;
mod symbols;
mod usage;
