//! `carve` moves one route of an app from an old server to a new one.
//!
//! Each command is a file of [`commands`], a thin layer over a library crate. [`place`] locates the nginx, Prometheus
//! and cluster that a command works on.

mod commands;
mod place;
mod signals;

use std::process::ExitCode;

use service_kit::arguments;

use commands::Arguments;

// docs/adr/0007-allocator.md explains this choice.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let command = arguments::parse::<Arguments>().command;
    let failure = command.failure();
    arguments::exit_code("carve", command.run(), failure)
}
