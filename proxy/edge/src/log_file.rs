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
    ///
    /// # Errors
    /// If it cannot be written.
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
mod tests {
    use super::*;

    #[test]
    fn a_full_file_is_followed_by_a_new_one_and_two_older_ones_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("requests.log");
        let whole = vec![b'a'; MAX_BYTES as usize];
        for number in 0..4 {
            let mut log = LogFile::open(&path).unwrap();
            log.write_all(format!("{number}\n").as_bytes()).unwrap();
            log.flush().unwrap();
            log.write_all(&whole).unwrap();
            // Only what ends with a flush may be followed by another file.
            log.write_all(b"\nend\n").unwrap();
            log.flush().unwrap();
        }
        let text = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(text("requests.log"), "");
        for (name, begin) in [("requests.log.1", "3\n"), ("requests.log.2", "2\n")] {
            assert!(text(name).starts_with(begin) && text(name).ends_with("\nend\n"), "{name}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn what_is_there_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("requests.log");
        fs::write(&path, "before\n").unwrap();
        LogFile::open(&path).unwrap().write_all(b"after\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "before\nafter\n");
    }
}
