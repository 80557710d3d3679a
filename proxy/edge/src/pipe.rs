//! `edge pipe [--log FILE] PROGRAM`: the program with its output led through a process that always reads it, and
//! hands it on to its own standard output, or writes it to a file.
//!
//! A pipe holds 64 kB. If its reader stalls, be it supervisord or a container runtime, the next write to
//! it blocks, and with it one of nginx' workers and all its clients. [`copy`] stands between: it keeps up
//! to twice [`MAX_WAITING_BYTES`] for a reader that stalls, leaves out lines beyond that, and says how
//! many. Lines about requests become JSON on the way ([`crate::request`]).
//!
//! The program replaces this process, so signals and exit codes are its own. The copying process is its
//! child, ends when nobody can write any more, and has a process group of its own, so that a signal to
//! the program's group does not end it first.

use std::ffi::OsString;
use std::io::{self, ErrorKind, Read, Write};
use std::mem::take;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use rustix::pipe::fcntl_setpipe_size;

use crate::log_file::LogFile;
use crate::request::Lines;

/// The first argument of a process that copies.
pub(crate) const COPY: &str = "pipe-copy";

/// Bytes that wait for the writer.
const MAX_WAITING_BYTES: usize = 4 << 20;
/// Bytes without a newline that may still become a line. A line of nginx' log has at most some 10 kB.
const MAX_LINE_BYTES: usize = 64 << 10;
/// How long the next lines wait for others: supervisord takes some 40 µs for what it reads at a time, be it a line
/// or a thousand, which was an eighth of nginx' own time.
const PAUSE: Duration = Duration::from_millis(20);
/// Bytes that are turned into JSON and written at a time, or a line.
const PART_BYTES: usize = 64 << 10;
/// What the pipe from the program holds: as much as anyone may ask for by default (pipe(7)).
const PIPE_BYTES: usize = 1 << 20;
/// How long the pipe may fill between two reads. nginx writes some 4 kB at a time; if that woke a process that waits
/// in `read`, the two would take turns on a core, hundreds of times a second. A pipe of 1 MiB takes the log of a
/// million requests a second meanwhile.
const GATHER: Duration = Duration::from_millis(5);
/// How long the reader may take for the rest when the program has ended.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Becomes the program. Returns only if that fails.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>) -> anyhow::Error {
    match start(arguments) {
        Ok(mut program) => {
            let error = program.exec();
            anyhow::Error::new(error).context(program.get_program().display().to_string())
        }
        Err(error) => error,
    }
}

/// Starts the process that copies; the program, with its output led there.
fn start(mut arguments: impl Iterator<Item = OsString>) -> anyhow::Result<Command> {
    const USAGE: &str = "usage: edge pipe [--log FILE] PROGRAM [ARGUMENTS]";
    let mut name = arguments.next().context(USAGE)?;
    let mut log = None;
    if name == "--log" {
        log = Some(PathBuf::from(arguments.next().context(USAGE)?));
        name = arguments.next().context(USAGE)?;
    }
    let stdout = copier(log.as_deref())?;
    let stderr = stdout.try_clone().context("a pipe")?;
    let mut program = Command::new(name);
    program.args(arguments).stdout(stdout).stderr(stderr);
    Ok(program)
}

/// Starts a process that copies, to this file or to its standard output; the end of the pipe that it reads.
fn copier(log: Option<&Path>) -> anyhow::Result<OwnedFd> {
    let mut command = Command::new(std::env::current_exe().context("this program")?);
    command.arg(COPY).args(log).stdin(Stdio::piped()).process_group(0);
    if let Some(log) = log {
        // Said here, it ends the program before it runs.
        LogFile::open(log).with_context(|| log.display().to_string())?;
    }
    let child = command.spawn().context(COPY)?;
    Ok(child.stdin.context("the copying process has no stdin")?.into())
}

/// Copies stdin to a file or to stdout, and never keeps stdin waiting.
///
/// # Errors
/// If the file cannot be opened, or stdin cannot be read.
pub(crate) fn copy(log: Option<&Path>) -> anyhow::Result<()> {
    let shared = Arc::new(Shared::default());
    let writers = Arc::clone(&shared);
    let to: Box<dyn Write + Send> = match log {
        Some(log) => Box::new(LogFile::open(log).with_context(|| log.display().to_string())?),
        None => {
            // The more there is at once, the less often the reader is woken. Without permission for it, the pipe
            // stays as it is; stdout may also be a file.
            let _ = fcntl_setpipe_size(io::stdout(), PIPE_BYTES);
            Box::new(io::stdout())
        }
    };
    let writer = thread::Builder::new().name("writer".to_owned());
    writer.spawn(move || write(&writers, to)).context("cannot start a thread")?;
    // A small pipe would be full before the pause ends.
    let is_large = fcntl_setpipe_size(io::stdin(), PIPE_BYTES).is_ok_and(|size| size >= PIPE_BYTES);
    let pause = if is_large { GATHER } else { Duration::ZERO };
    let outcome = read(&shared, io::stdin(), pause);
    shared.change(|waiting| waiting.is_over = true);
    let waiting = shared.lock();
    let is_busy = |waiting: &mut Waiting| !waiting.is_written;
    drop(shared.changed.wait_timeout_while(waiting, FLUSH_TIMEOUT, is_busy));
    outcome
}

/// What both threads share.
#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

/// What the writer has still to write.
#[derive(Default)]
struct Waiting {
    /// Whole lines.
    bytes: Vec<u8>,
    /// Lines that were left out after them.
    dropped: u64,
    /// Nothing more comes.
    is_over: bool,
    /// All is written.
    is_written: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Waiting)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }
}

impl Waiting {
    /// Takes whole lines, or leaves them out if there is no room. Once one is left out, so are the next
    /// until the writer has said so: lines stay in order.
    fn push(&mut self, lines: &[u8]) {
        if self.dropped == 0 && self.bytes.len() + lines.len() <= MAX_WAITING_BYTES {
            self.bytes.extend_from_slice(lines);
        } else {
            self.dropped += lines.iter().filter(|&&byte| byte == b'\n').count() as u64;
        }
    }
}

/// Takes lines until `from` ends. When all that was there is read, it pauses.
fn read(shared: &Shared, mut from: impl Read, pause: Duration) -> anyhow::Result<()> {
    let mut part = vec![0; MAX_LINE_BYTES];
    let mut line = Vec::new();
    loop {
        let length = match from.read(&mut part) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error).context("stdin"),
        };
        line.extend_from_slice(&part[..length]);
        let is_all = length < part.len();
        if line.len() > MAX_LINE_BYTES && !line.contains(&b'\n') {
            line.push(b'\n');
        }
        if let Some(last) = line.iter().rposition(|&byte| byte == b'\n') {
            shared.change(|waiting| waiting.push(&line[..=last]));
            line.drain(..=last);
        }
        if is_all && !pause.is_zero() {
            thread::sleep(pause);
        }
    }
    if !line.is_empty() {
        line.push(b'\n');
        shared.change(|waiting| waiting.push(&line));
    }
    Ok(())
}

fn write(shared: &Shared, mut to: impl Write) {
    let (mut lines, mut json) = (Lines::default(), Vec::new());
    loop {
        let idle = |waiting: &mut Waiting| {
            waiting.bytes.is_empty() && waiting.dropped == 0 && !waiting.is_over
        };
        let waiting = shared.changed.wait_while(shared.lock(), idle);
        let mut waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        let (bytes, dropped) = (take(&mut waiting.bytes), take(&mut waiting.dropped));
        let is_last = waiting.is_over;
        drop(waiting);
        // If the reader is gone, lines are left out for good.
        let _ = write_lines(&bytes, (&mut lines, &mut json), &mut to)
            .and_then(
                |()| if dropped > 0 { to.write_all(notice(dropped).as_bytes()) } else { Ok(()) },
            )
            .and_then(|()| to.flush());
        if is_last {
            shared.change(|waiting| waiting.is_written = true);
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// Writes whole lines, those about requests as JSON, which is thrice as long: so not all of them at once.
fn write_lines(
    bytes: &[u8],
    (lines, json): (&mut Lines, &mut Vec<u8>),
    to: &mut impl Write,
) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let least = rest.len().min(PART_BYTES) - 1;
        let end = rest[least..].iter().position(|&byte| byte == b'\n');
        let (part, after) = rest.split_at(end.map_or(rest.len(), |end| least + end + 1));
        json.clear();
        lines.convert(part, json);
        to.write_all(json)?;
        rest = after;
    }
    Ok(())
}

/// In the form of the other lines of the logs.
fn notice(dropped: u64) -> String {
    let time = humantime::format_rfc3339_millis(SystemTime::now());
    format!(
        "{{\"time\":\"{time}\",\"level\":\"warn\",\"msg\":\"lines left out, since nobody read them\",\
         \"service\":\"edge\",\"lines\":{dropped}}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(shared: &Shared) -> (Vec<u8>, u64) {
        let mut waiting = shared.lock();
        (take(&mut waiting.bytes), take(&mut waiting.dropped))
    }

    #[test]
    fn lines_are_passed_on_whole() {
        let shared = Shared::default();
        let parts = (&b"one\ntw"[..]).chain(&b"o\n"[..]).chain(&b"rest"[..]);
        read(&shared, parts, GATHER).unwrap();
        assert_eq!(waiting(&shared), (b"one\ntwo\nrest\n".to_vec(), 0));
    }

    #[test]
    fn lines_that_nobody_reads_are_left_out_and_counted() {
        let shared = Shared::default();
        let line = [&[b'a'; 1023][..], b"\n"].concat();
        let lines = line.repeat(2 * MAX_WAITING_BYTES / 1024);
        read(&shared, &lines[..], Duration::ZERO).unwrap();
        let (bytes, dropped) = waiting(&shared);
        assert!(bytes.len() <= MAX_WAITING_BYTES && bytes.len() > MAX_WAITING_BYTES / 2);
        assert!(bytes.ends_with(b"a\n"));
        assert_eq!(bytes.len() as u64 / 1024 + dropped, lines.len() as u64 / 1024);
    }

    #[test]
    fn what_was_left_out_is_said_after_what_was_not() {
        let shared = Shared::default();
        shared.change(|waiting| {
            *waiting =
                Waiting { bytes: b"a\n".to_vec(), dropped: 3, is_over: true, is_written: false };
        });
        let mut written = Vec::new();
        write(&shared, &mut written);
        let text = String::from_utf8(written).unwrap();
        assert!(text.starts_with("a\n{\"time\":\"2") && text.ends_with("\"lines\":3}\n"), "{text}");
        assert!(shared.lock().is_written);
    }
}
