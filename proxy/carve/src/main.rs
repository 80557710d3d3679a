//! `carve` moves one route of an app from an old server to a new one.
//!
//! Each command is a file of [`commands`], thin over a library crate. [`place`] says which nginx, Prometheus
//! and cluster it works on.

mod commands;
mod place;
mod signals;
mod usage;

use std::process::ExitCode;

use anstream::eprintln;
use service_kit::arguments;

use commands::Arguments;
use usage::Usage;

// docs/adr/0007-allocator.md says why.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let command = arguments::parse::<Arguments>().command;
    let failure = command.failure();
    command.run().unwrap_or_else(|error| {
        // Each of several mistakes has a line of its own.
        for line in format!("{error:#}").lines() {
            eprintln!("carve: {line}");
        }
        ExitCode::from(if error.is::<Usage>() { arguments::USAGE } else { failure })
    })
}
