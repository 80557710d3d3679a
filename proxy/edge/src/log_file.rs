//! A log in a file, with older files beside it: `requests.log`, `requests.log.1`, `requests.log.2`, the newest first.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::position::with_suffix;

/// The length at which a new file is begun. A file may get a little longer.
const MAX_BYTES: u64 = 10_000_000;
/// The number of older files that are kept.
const KEPT: usize = 2;

/// A log that begins a new file after 10 MB and keeps two older files.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    file: File,
    length: u64,
}

impl LogFile {
    /// Opens the log at `path`, to append to it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        let length = file.metadata()?.len();
        Ok(LogFile { path: path.to_owned(), file, length })
    }

    /// The path of the older file with this number; 1 is the newest of them.
    fn older(&self, number: usize) -> PathBuf {
        with_suffix(&self.path, &format!(".{number}"))
    }

    fn begin_next(&mut self) -> io::Result<()> {
        for number in (1..KEPT).rev() {
            match fs::rename(self.older(number), self.older(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        fs::rename(&self.path, self.older(1))?;
        *self = Self::open(&self.path)?;
        Ok(())
    }
}

/// Begins a new file only in `flush`, so all bytes written between two calls of `flush` are in the same file.
impl Write for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.length < MAX_BYTES { Ok(()) } else { self.begin_next() }
    }
}

#[cfg(test)]
mod tests;
