//! Writes the result to standard output or to a file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::NamedTempFile;

pub(crate) enum Target {
    Stdout,
    File(PathBuf),
    /// One file per picture, numbered from 01.
    Files(PathBuf),
}

impl Target {
    /// Writes the pictures. Only [`Target::Files`] takes more than one.
    pub(crate) fn write(&self, pictures: &[Vec<u8>]) -> anyhow::Result<()> {
        match self {
            Target::Stdout => {
                let mut stdout = io::stdout().lock();
                let written = pictures.iter().try_for_each(|bytes| stdout.write_all(bytes));
                written.and_then(|()| stdout.flush()).context("cannot write standard output")
            }
            Target::File(path) => write_files(pictures, |_| path.clone()),
            Target::Files(path) => write_files(pictures, |index| numbered(path, index + 1)),
        }
    }
}

/// `a-01.png` for `a.png`.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number:02}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// Whether the reader of standard output has closed the pipe.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// Writes each picture to its file. All files are completely written before the first one is renamed into place.
fn write_files(pictures: &[Vec<u8>], path_of: impl Fn(usize) -> PathBuf) -> anyhow::Result<()> {
    let mut written = Vec::with_capacity(pictures.len());
    for (index, bytes) in pictures.iter().enumerate() {
        let path = path_of(index);
        let name = || format!("cannot write {}", path.display());
        if let Some(beside) = write_beside(&path, bytes).with_context(name)? {
            written.push((path, beside));
        }
    }
    for (path, Beside { file, target }) in written {
        let renamed = file.persist(target).map_err(|error| error.error);
        renamed.with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// A file under a temporary name. It is removed unless it is renamed.
struct Beside {
    file: NamedTempFile<File>,
    target: PathBuf,
}

/// Writes a temporary file next to the file that it will replace. A device or a pipe must not be replaced, so it is
/// written to directly, and the result is `None`.
fn write_beside(path: &Path, bytes: &[u8]) -> io::Result<Option<Beside>> {
    // A rename needs write permission for the folder only. Opening the file first makes sure that a
    // read-only file is not replaced.
    let (target, permissions) = match OpenOptions::new().write(true).open(path) {
        Ok(mut existing) => {
            let metadata = existing.metadata()?;
            if !metadata.is_file() {
                return existing.write_all(bytes).map(|()| None);
            }
            // Resolves links, so that the file is replaced and the link stays.
            (fs::canonicalize(path)?, Some(metadata.permissions()))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => (path.to_owned(), None),
        Err(error) => return Err(error),
    };
    let folder = target.parent().unwrap_or(Path::new(""));
    // Created with the umask's permissions; tempfile's own files are private to the user.
    let mut file =
        tempfile::Builder::new().prefix(".qr-").make_in(folder, |path| File::create_new(path))?;
    permissions.map_or(Ok(()), |permissions| file.as_file_mut().set_permissions(permissions))?;
    file.as_file_mut().write_all(bytes)?;
    Ok(Some(Beside { file, target }))
}
