//! The user's program as a process that reads and writes lines within deadlines.
//!
//! The pipes do not block, and one `poll` watches them all. So deadlines hold whatever the program reads or writes, and
//! no thread is left behind if a grandchild keeps a pipe open.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{Pid, Signal, kill_process_group};

use super::stats::{Failure, ProgramFailure};
use super::stderr::Log;
use route::ExecSettings;

/// Longest line of the program.
const MAX_LINE_BYTES: usize = 64 * 1024;
/// How much of standard error is passed on after the program was killed.
const MAX_LAST_WORDS_BYTES: usize = 64 * 1024;

/// A running program. Dropping it kills the process group.
#[derive(Debug)]
pub(super) struct Program {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    /// `None` once the program has closed it.
    stderr: Option<ChildStderr>,
    log: Log,
    /// The bytes read from `stdout` so far.
    read: Vec<u8>,
    ended: bool,
}

/// Which pipes are ready for reading or writing.
#[derive(Debug, Default)]
struct Ready {
    stdin: bool,
    stdout: bool,
    stderr: bool,
}

impl Program {
    /// Starts the program in a process group of its own.
    pub(super) fn spawn(settings: &ExecSettings) -> Result<Self, ProgramFailure> {
        let name = settings.command.first().map_or("", String::as_str);
        let failed = |error: io::Error| Failure::Start.because(format!("{name}: {error}"));
        let mut child = Command::new(name)
            .args(settings.command.iter().skip(1))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(Failure::Start.because(format!("{name}: no pipes to it")));
        };
        let (log, read) = (Log::new(name), Vec::new());
        let program =
            Program { child, stdin, stdout, stderr: Some(stderr), log, read, ended: false };
        // From here on, an error drops the program, which kills it.
        program.prepare(settings.max_memory_mib).map_err(|error| failed(error.into()))?;
        Ok(program)
    }

    fn prepare(&self, max_memory_mib: Option<u32>) -> Result<(), Errno> {
        ioctl_fionbio(&self.stdin, true)?;
        ioctl_fionbio(&self.stdout, true)?;
        if let Some(stderr) = &self.stderr {
            ioctl_fionbio(stderr, true)?;
        }
        match max_memory_mib {
            Some(mib) => limit_memory(self.pid(), mib),
            None => Ok(()),
        }
    }

    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Waits for a line that the program writes without a question. `None` if none arrives before the deadline.
    pub(super) fn listen(&mut self, deadline: Instant) -> Result<Option<Vec<u8>>, ProgramFailure> {
        self.exchange(&[], deadline)
    }

    /// Sends a line and waits for the answer. `None` if none arrives before the deadline.
    pub(super) fn ask(
        &mut self,
        question: &[u8],
        deadline: Instant,
    ) -> Result<Option<Vec<u8>>, ProgramFailure> {
        self.read_stdout()?;
        if !self.read.is_empty() {
            return Err(Failure::Flooded.because("it wrote without being asked"));
        }
        self.exchange(question, deadline)
    }

    fn exchange(
        &mut self,
        mut question: &[u8],
        deadline: Instant,
    ) -> Result<Option<Vec<u8>>, ProgramFailure> {
        loop {
            if let Some(line) = self.take_line()? {
                if !question.is_empty() {
                    return Err(Failure::Nonsense.because("it answered half a question"));
                }
                return Ok(Some(line));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let ready = self.wait(!question.is_empty(), left)?;
            if ready.stderr {
                self.read_stderr();
            }
            if ready.stdout {
                self.read_stdout()?;
            }
            if ready.stdin {
                question = &question[self.write(question)?..];
            }
        }
    }

    /// The line read so far, if it is complete. Fails if it is too long or followed by more bytes.
    fn take_line(&mut self) -> Result<Option<Vec<u8>>, ProgramFailure> {
        let end = self.read.iter().position(|&byte| byte == b'\n');
        if end.unwrap_or(self.read.len()) > MAX_LINE_BYTES {
            let why = format!("it wrote a line of more than {MAX_LINE_BYTES} bytes");
            return Err(Failure::Flooded.because(why));
        }
        match end {
            None => Ok(None),
            Some(end) if end + 1 < self.read.len() => {
                Err(Failure::Flooded.because("it wrote more than one line"))
            }
            Some(_) => Ok(Some(std::mem::take(&mut self.read))),
        }
    }

    fn wait(&self, writing: bool, left: Duration) -> Result<Ready, ProgramFailure> {
        let failed = |error: Errno| Failure::Died.because(format!("poll: {error}"));
        let mut fds = vec![PollFd::new(&self.stdout, PollFlags::IN)];
        let stderr = self.stderr.as_ref().map(|stderr| {
            fds.push(PollFd::new(stderr, PollFlags::IN));
            fds.len() - 1
        });
        let stdin = writing.then(|| {
            fds.push(PollFd::new(&self.stdin, PollFlags::OUT));
            fds.len() - 1
        });
        let timeout = Timespec::try_from(left).map_err(|_| failed(Errno::INVAL))?;
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Ready::default()),
            Err(error) => return Err(failed(error)),
        }
        // A pipe that the other end has closed is ready too; reading or writing reveals that.
        let is_ready = |index: usize| !fds[index].revents().is_empty();
        Ok(Ready {
            stdin: stdin.is_some_and(is_ready),
            stdout: is_ready(0),
            stderr: stderr.is_some_and(is_ready),
        })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, ProgramFailure> {
        match self.stdin.write(bytes) {
            Ok(count) => Ok(count),
            Err(error) if is_temporary(&error) => Ok(0),
            Err(_) => Err(self.died("closed its input")),
        }
    }

    fn read_stdout(&mut self) -> Result<(), ProgramFailure> {
        let mut buffer = [0; 16 * 1024];
        match self.stdout.read(&mut buffer) {
            Ok(0) => Err(self.died("closed its output")),
            Ok(count) => {
                self.read.extend_from_slice(&buffer[..count]);
                Ok(())
            }
            Err(error) if is_temporary(&error) => Ok(()),
            Err(_) => Err(self.died("broke its output")),
        }
    }

    /// Passes on a part of standard error. Returns its length.
    fn read_stderr(&mut self) -> usize {
        let mut buffer = [0; 4 * 1024];
        let Some(stderr) = &mut self.stderr else { return 0 };
        match stderr.read(&mut buffer) {
            Err(error) if is_temporary(&error) => 0,
            Ok(0) | Err(_) => {
                self.stderr = None;
                0
            }
            Ok(count) => {
                self.log.write(&buffer[..count]);
                count
            }
        }
    }

    /// Kills the program, if it still runs, and says how it ended.
    fn died(&mut self, what: &str) -> ProgramFailure {
        let why = match self.end() {
            // Most likely it ran until `end` killed it just now.
            Some(status) if status.signal() == Some(9) => format!("it {what} or was killed"),
            Some(status) => format!("it ended with {status}"),
            None => format!("it {what}"),
        };
        Failure::Died.because(why)
    }

    /// Kills the process group and waits for the program, so that no zombie is left.
    fn end(&mut self) -> Option<ExitStatus> {
        if self.ended {
            return None;
        }
        self.ended = true;
        // The group has the program's process id, which stays taken until `wait`. Both signals fail if nothing is left
        // to kill.
        if let Some(pid) = self.pid() {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let _ = self.child.kill();
        let status = self.child.wait().ok();
        let mut last_words = 0;
        while last_words < MAX_LAST_WORDS_BYTES {
            match self.read_stderr() {
                0 => break,
                count => last_words += count,
            }
        }
        self.log.end();
        status
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.end();
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Limits the memory that the process may allocate. The process already runs, but has not been asked anything yet.
///
/// The limit counts writable private memory. A limit on the address space would also count memory that runtimes such as
/// Node and Go only reserve.
#[cfg(target_os = "linux")]
fn limit_memory(pid: Option<Pid>, mib: u32) -> Result<(), Errno> {
    use rustix::process::{Resource, Rlimit, prlimit};

    let bytes = Some(u64::from(mib) << 20);
    prlimit(pid, Resource::Data, Rlimit { current: bytes, maximum: bytes }).map(|_| ())
}

#[cfg(not(target_os = "linux"))]
fn limit_memory(_pid: Option<Pid>, _mib: u32) -> Result<(), Errno> {
    Err(Errno::NOTSUP)
}
