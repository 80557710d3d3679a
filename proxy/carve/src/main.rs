//! `carve` moves one route of an app from an old server to a new one.
//!
//! Each command is a file of [`commands`], a thin layer over a library crate. [`place`] locates the nginx, Prometheus
//! and cluster that a command works on.

mod commands;
mod place;
mod signals;

use std::process::ExitCode;

use rustix::fs::Mode;
use rustix::process::umask;
use service_kit::arguments;

use commands::Arguments;

// docs/adr/0007-allocator.md explains this choice.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Whatever the caller's umask: who may write a stop file or the supervisor's socket controls the traffic.
    let others = Mode::WGRP | Mode::WOTH;
    umask(umask(others) | others);
    let command = arguments::parse::<Arguments>().command;
    let failure = command.failure();
    arguments::exit_code("carve", command.run(), failure)
}
