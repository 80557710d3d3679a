//! Servers on their own cores ([`server`]), load from other cores ([`load`]), its cost ([`sampling`]),
//! and checks of the answers ([`check`]). And faults under load ([`chaos`]).

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anstream::eprintln;
use anyhow::Context;
use serde::Serialize;

pub mod capacity;
pub mod chaos;
pub mod check;
pub mod floors;
pub mod functions;
pub mod ladder;
pub mod load;
pub mod overload;
pub mod ramps;
pub mod relay;
pub mod report;
pub mod rows;
pub mod sampling;
pub mod server;
pub mod texts;
pub mod way;

/// A program's exit code; prints an error as one line.
pub fn exit_code(program: &str, result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        eprintln!("{program}: {error:#}");
        ExitCode::FAILURE
    })
}

/// Writes a file, and makes its folder if it is missing.
///
/// # Errors
/// The file, and the system's message.
pub fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    file.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(file, text))
        .with_context(|| file.display().to_string())
}

/// Writes `value` as JSON with [`write()`].
///
/// # Errors
/// Those of [`write()`].
pub fn write_json(file: &Path, value: &impl Serialize) -> anyhow::Result<()> {
    write(file, &(serde_json::to_string_pretty(value)? + "\n"))
}
