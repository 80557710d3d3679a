//! `carve` as a program, alone and with the stacks that it starts.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bodies;
mod cache;
mod closed_pipe;
mod contract;
mod docs;
mod doctor;
mod failures;
mod front;
mod logs;
mod metrics;
mod nightly;
mod other_languages;
mod other_services;
mod path;
mod ramp;
mod refusals;
mod relay;
mod release;
mod setup;
mod stack;
mod support;
mod usage;
