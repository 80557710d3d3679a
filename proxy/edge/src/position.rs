//! The offset files: how far each log file has been counted and printed, for the next start.
//!
//! One line per log file, the oldest first: inode, time of birth in nanoseconds, offset in bytes. The last
//! line is the file at the log's path; the others were renamed and may still have unread lines.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Identifies a file, also after it was renamed. Includes the time of birth, since filesystems reuse the inode of a
/// deleted file; it is 0 if the filesystem does not know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    inode: u64,
    born_ns: u128,
}

impl Identity {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let born = metadata.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Identity { inode: metadata.ino(), born_ns: born.map_or(0, |born| born.as_nanos()) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) identity: Identity,
    /// Where the first line begins that a restart must read.
    pub(crate) offset: u64,
}

/// The two offset files beside `log`: one for counted and scraped lines, one for printed lines.
pub(crate) fn offset_files(log: &Path) -> [PathBuf; 2] {
    [".offset", ".printed"].map(|suffix| with_suffix(log, suffix))
}

pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Replaces an offset file atomically: a reader sees the old content or the new.
pub(crate) fn write_positions(file: &Path, positions: &[Position]) -> io::Result<()> {
    let lines =
        positions.iter().map(|Position { identity: Identity { inode, born_ns }, offset }| {
            format!("{inode} {born_ns} {offset}\n")
        });
    let new = with_suffix(file, ".new");
    fs::write(&new, lines.collect::<String>())?;
    fs::rename(new, file)
}

/// Reads an offset file. A missing file has no positions. Fails if it cannot be read or is not an offset file.
pub(crate) fn read_positions(file: &Path) -> io::Result<Vec<Position>> {
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text?,
    };
    let positions: Option<_> = text.lines().map(parse).collect();
    positions.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not an offset file"))
}

fn parse(line: &str) -> Option<Position> {
    let mut words = line.split(' ');
    let identity =
        Identity { inode: words.next()?.parse().ok()?, born_ns: words.next()?.parse().ok()? };
    let offset = words.next()?.parse().ok()?;
    words.next().is_none().then_some(Position { identity, offset })
}

/// Finds the file with this identity and opens it with `open`: `log` itself, or another file in its folder, since
/// rotation renames a log within its folder.
pub(crate) fn find_renamed(
    log: &Path,
    identity: Identity,
    open: impl Fn(&Path) -> io::Result<File>,
) -> Option<File> {
    let folder = log.parent().filter(|folder| !folder.as_os_str().is_empty());
    let is_it = |metadata: Metadata| metadata.is_file() && Identity::of(&metadata) == identity;
    if log.metadata().is_ok_and(is_it) {
        return open(log).ok();
    }
    fs::read_dir(folder.unwrap_or(Path::new(".")))
        .ok()?
        .flatten()
        .filter(|entry| entry.metadata().is_ok_and(is_it))
        .find_map(|entry| open(&entry.path()).ok())
}

#[cfg(test)]
mod tests;
