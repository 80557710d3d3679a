//! The shadow and `carve compare` with servers of these tests, and the judges by themselves.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod compare;
mod decoders;
mod differences;
mod files;
mod hostile;
mod judge_differences;
mod judge_exec;
mod judge_heads;
mod judge_log;
mod judge_settings;
mod judge_support;
mod judge_tables;
mod languages;
mod service;
mod support;
