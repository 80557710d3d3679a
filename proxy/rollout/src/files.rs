//! Reads and writes files that other processes read at the same time.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Context;
use tempfile::Builder;

/// A hash of a text that is the same in every version and on every machine (FNV-1a).
pub fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// Replaces the file's text: writes a new file beside it, syncs it, and renames it. Readers see the
/// old text or the new one, even after a crash.
pub(crate) fn replace(file: &Path, text: &str) -> anyhow::Result<()> {
    let name = || file.display().to_string();
    let folder = file.parent().unwrap_or(Path::new("."));
    // nginx' workers must read files that root wrote.
    let permissions = Permissions::from_mode(0o644);
    let mut beside =
        Builder::new().permissions(permissions).tempfile_in(folder).with_context(name)?;
    beside.write_all(text.as_bytes()).with_context(name)?;
    beside.as_file().sync_all().with_context(name)?;
    beside.persist(file).with_context(name)?;
    sync_folder(folder)
}

/// Renames within a folder, and syncs the folder.
pub(crate) fn rename(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::rename(from, to).with_context(|| format!("{} to {}", from.display(), to.display()))?;
    sync_folder(to.parent().unwrap_or(Path::new(".")))
}

fn sync_folder(folder: &Path) -> anyhow::Result<()> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .with_context(|| folder.display().to_string())
}

/// Appends to a file, and creates it if it does not exist.
pub(crate) fn append(file: &Path, text: &str) -> anyhow::Result<()> {
    let opened = OpenOptions::new().append(true).create(true).open(file);
    let written = opened.and_then(|mut opened| opened.write_all(text.as_bytes()));
    written.with_context(|| file.display().to_string())
}

/// Turns the outcome of a removal into success if `path` did not exist. An error names the path.
pub(crate) fn gone(path: &Path, removed: io::Result<()>) -> anyhow::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.with_context(|| path.display().to_string()),
    }
}

/// Reads a file; the error names it.
pub(crate) fn read(file: &Path) -> anyhow::Result<String> {
    fs::read_to_string(file).with_context(|| file.display().to_string())
}

/// Reads a file; `None` if it does not exist.
pub(crate) fn read_if_there(file: &Path) -> anyhow::Result<Option<String>> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| file.display().to_string()),
    }
}
