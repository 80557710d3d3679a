//! A log in a file, with older files beside it: `requests.log`, `requests.log.1`, `requests.log.2`, the newest first.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file of this length, or a little more, is followed by a new one.
const MAX_BYTES: u64 = 10_000_000;
/// Older files that are kept.
const KEPT: usize = 2;

/// A log that grows to 10 MB; two older ones are kept.
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

    /// Where the file is that `number` newer ones have followed.
    fn older(&self, number: usize) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(format!(".{number}"));
        path.into()
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

/// What is written between two calls of `flush` stays in one file.
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
