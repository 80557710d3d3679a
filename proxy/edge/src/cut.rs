//! Answers that a side cut short. nginx has sent the head by then, so its access log has the side's status, and no
//! variable tells. But its error log names the connection: `*CONNECTION upstream prematurely closed connection while
//! reading upstream`, or another cause before the last words. nginx writes it at once, before the line.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use memchr::memmem;

use crate::line::Line;

/// What an error says if the head had come: of a buffered answer, and of one that is passed on as it comes. A client that
/// leaves is no error, but a message of a lower level.
const AFTER_HEAD: [&[u8]; 2] = [b" while reading upstream,", b" while sending to client,"];
/// What precedes the server's address.
const UPSTREAM: [&str; 3] = ["upstream: \"http://", "upstream: \"https://", "upstream: \"grpc://"];
/// The longest address of a server that is told from others.
const MOST_ADDRESS: usize = 120;
/// How long after its error the line of a cut answer is the last one of its connection: twice as long as nginx keeps
/// lines.
const LAST_LINE: Duration = Duration::from_secs(2);
/// How long the line of a cut answer is waited for, of which nginx may still send a part to a slow client.
const FORGOTTEN: Duration = Duration::from_secs(60);
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

    /// The answers that were cut since the last call, by connection and server. Fails if the file cannot be read.
    pub(crate) fn take(&mut self) -> io::Result<Vec<(u64, Vec<u8>)>> {
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

/// The connection of an error about an answer that was cut, and the server's address with what follows it.
fn cut(line: &[u8]) -> Option<(u64, Vec<u8>)> {
    AFTER_HEAD.iter().find(|words| memmem::find(line, words).is_some())?;
    let number = line.split(|&byte| byte == b' ').find_map(|word| word.strip_prefix(b"*"))?;
    let server = UPSTREAM.iter().find_map(|name| {
        let at = memmem::rfind(line, name.as_bytes())? + name.len();
        Some(line[at..].iter().copied().take(MOST_ADDRESS).collect())
    });
    Some((std::str::from_utf8(number).ok()?.parse().ok()?, server?))
}

/// A connection on which a side cut an answer short.
#[derive(Clone, Debug)]
struct Cut {
    server: Vec<u8>,
    heard: Instant,
    /// The connection's last line from this server so far.
    line: Vec<u8>,
}

/// Finds the lines of cut answers. nginx keeps lines for a second, so earlier ones of the same connection may come after
/// the error; but over HTTP/1 it closes the connection, so that the line is the last one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cuts(HashMap<u64, Cut>);

impl Cuts {
    /// Adds cut answers. Returns the lines of those that were added long enough ago.
    pub(crate) fn add(&mut self, cuts: Vec<(u64, Vec<u8>)>, heard: Instant) -> Vec<Vec<u8>> {
        let new = |(connection, server)| (connection, Cut { server, heard, line: Vec::new() });
        self.0.extend(cuts.into_iter().map(new));
        let age = |cut: &Cut| heard.saturating_duration_since(cut.heard);
        let is_over = |_: &u64, cut: &mut Cut| {
            age(cut) >= LAST_LINE && !cut.line.is_empty() || age(cut) >= FORGOTTEN
        };
        self.0.extract_if(is_over).map(|(_, cut)| cut.line).collect()
    }

    /// Keeps a line that may be the cut answer's, and returns the one that was kept before, whose answer was whole; it
    /// is empty at first. `None` if the answer is no candidate.
    pub(crate) fn keep(&mut self, line: &Line<'_>, text: &[u8]) -> Option<Vec<u8>> {
        let cut = self.0.get_mut(&line.connection?)?;
        let is_candidate = !line.server.is_empty() && cut.server.starts_with(line.server);
        is_candidate.then(|| std::mem::replace(&mut cut.line, text.to_vec()))
    }
}

#[cfg(test)]
mod tests;
