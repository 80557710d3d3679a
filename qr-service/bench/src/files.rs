//! Writes files of figures.

use std::fs;
use std::path::Path;

use anyhow::Context;
use serde::Serialize;

/// Writes a file, and makes its folder if it is missing. Fails with the file and the system's message.
pub fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    let made = file.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(file, text)).with_context(|| file.display().to_string())
}

/// Writes `value` as JSON with [`write()`], and fails as that does.
pub fn write_json(file: &Path, value: &impl Serialize) -> anyhow::Result<()> {
    write(file, &(serde_json::to_string_pretty(value)? + "\n"))
}
