//! Answers that a side cut short. nginx has sent the head by then, so its access log has the side's status, and no
//! variable tells. But its error log names the connection: `*CONNECTION upstream prematurely closed connection while
//! reading upstream`, or another cause before the last words. nginx writes it at once, before the line.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use memchr::memmem;

/// What an error says if the head had come: of a buffered answer, and of one that is passed on as it comes. A client that
/// leaves is no error, but a message of a lower level.
const AFTER_HEAD: [&[u8]; 2] = [b" while reading upstream,", b" while sending to client,"];
/// The most that is read at once.
const PART_BYTES: usize = 1 << 20;

/// Reads `errors.log` beside the access log.
pub(crate) struct Errors {
    path: PathBuf,
    /// `None` before the first look, which skips what is there: the numbers may be of an nginx that has ended.
    read: Option<u64>,
}

impl Errors {
    pub(crate) fn beside(log: &Path) -> Self {
        Errors { path: log.with_file_name("errors.log"), read: None }
    }

    /// The connections whose answers were cut since the last call. Fails if the file cannot be read.
    pub(crate) fn take(&mut self) -> io::Result<Vec<u64>> {
        let length = match self.path.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            metadata => metadata?.len(),
        };
        let read = self.read.get_or_insert(length);
        if length <= *read {
            *read = length; // another process emptied it, or it has nothing new
            return Ok(Vec::new());
        }
        let mut text = vec![0; PART_BYTES.min((length - *read) as usize)];
        let got = File::open(&self.path)?.read_at(&mut text, *read)?;
        let whole = memchr::memrchr(b'\n', &text[..got]).map_or(0, |end| end + 1);
        *read += whole as u64;
        // Errors have request lines, so they do not stay. nginx appends, so it goes on at the beginning of an emptied file.
        let file = OpenOptions::new().write(true).open(&self.path);
        if self.path.metadata()?.len() == *read && file.and_then(|file| file.set_len(0)).is_ok() {
            *read = 0;
        }
        Ok(text[..whole].split(|&byte| byte == b'\n').filter_map(cut).collect())
    }
}

/// The connection of an error about an answer that was cut.
fn cut(line: &[u8]) -> Option<u64> {
    AFTER_HEAD.iter().find(|words| memmem::find(line, words).is_some())?;
    let number = line.split(|&byte| byte == b' ').find_map(|word| word.strip_prefix(b"*"))?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
