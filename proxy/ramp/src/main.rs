//! The `ramp` program.

mod commands;

use std::process::ExitCode;

use anstream::eprintln;

fn main() -> ExitCode {
    service_kit::arguments::parse::<commands::Arguments>().run().unwrap_or_else(|error| {
        eprintln!("ramp: {error:#}");
        ExitCode::FAILURE
    })
}
