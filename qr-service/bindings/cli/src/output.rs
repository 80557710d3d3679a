//! Writes the result to standard output or to a file.

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

/// Whether the reader of standard output has closed the pipe, which needs no message.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A rename needs write permission for the folder only. Opening the file first makes sure that a
    // read-only file is not replaced.
    match OpenOptions::new().write(true).open(path) {
        Ok(mut existing) => {
            let metadata = existing.metadata()?;
            if metadata.is_file() {
                // Resolves links, so that the file is replaced and the link stays.
                replace(&fs::canonicalize(path)?, Some(metadata.permissions()), bytes)
            } else {
                existing.write_all(bytes) // a device or a pipe, which must stay one
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => replace(path, None, bytes),
        Err(error) => Err(error),
    }
}

/// Writes a temporary file beside `path` and renames it, so that `path` never holds half a picture.
fn replace(path: &Path, permissions: Option<Permissions>, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    // Created with the umask's permissions; tempfile's own files are private to the user.
    let mut beside =
        tempfile::Builder::new().prefix(".qr-").make_in(folder, |path| File::create_new(path))?;
    let file = beside.as_file_mut();
    permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions))?;
    file.write_all(bytes)?;
    beside.persist(path)?;
    Ok(())
}
