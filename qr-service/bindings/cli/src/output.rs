//! Where the picture goes.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

pub(crate) enum Target {
    Stdout,
    File(PathBuf),
}

impl Target {
    pub(crate) fn write(&self, bytes: &[u8]) -> anyhow::Result<()> {
        match self {
            Target::Stdout => {
                let mut stdout = io::stdout().lock();
                let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
                written.context("cannot write standard output")
            }
            Target::File(path) => {
                write_file(path, bytes).with_context(|| format!("cannot write {}", path.display()))
            }
        }
    }
}

/// Whether nobody reads standard output any more. Nobody needs to be told.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Replacing a file takes no right to write to it, only to its folder; so it is asked for here.
    match OpenOptions::new().write(true).open(path) {
        Ok(mut existing) => {
            let metadata = existing.metadata()?;
            if metadata.is_file() {
                // What a link points to is replaced, not the link.
                replace(&fs::canonicalize(path)?, Some(metadata.permissions()), bytes)
            } else {
                existing.write_all(bytes) // a device or a pipe, which must stay one
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => replace(path, None, bytes),
        Err(error) => Err(error),
    }
}

/// Writes a file beside `path` and renames it, so that `path` is never half a picture.
fn replace(path: &Path, permissions: Option<Permissions>, bytes: &[u8]) -> io::Result<()> {
    let mut name = OsString::from(".");
    name.push(path.file_name().ok_or(ErrorKind::InvalidFilename)?);
    name.push(format!(".{}.part", std::process::id()));
    let beside = path.with_file_name(name);
    let mut file = File::create_new(&beside)?;
    let written = permissions
        .map_or(Ok(()), |permissions| file.set_permissions(permissions))
        .and_then(|()| file.write_all(bytes))
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&beside);
    }
    written
}
