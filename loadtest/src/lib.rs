//! Three programs. `ladder` measures servers in rows, in turn, on their own cores, and writes a table. `chaos` plays faults
//! under load. `load` gives a stack traffic. All send requests at fixed rates by the same clients ([`client`]).

// `load` needs only a part of the clients.
#![cfg_attr(not(feature = "servers"), allow(dead_code, unused_imports))]

use std::process::ExitCode;

use anstream::eprintln;

pub mod client;
#[cfg(feature = "servers")]
pub mod servers;
pub mod texts;

/// A program's exit code; prints an error as one line.
pub fn exit_code(program: &str, result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        eprintln!("{program}: {error:#}");
        ExitCode::FAILURE
    })
}
