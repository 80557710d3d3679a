//! The user's program as a process that reads and writes lines within deadlines.
//!
//! One thread waits for all pipes at once. So deadlines hold whatever the program reads or writes, and no thread is left
//! behind if a grandchild keeps a pipe open.

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;
use tokio::time::{timeout, timeout_at};

use super::stderr::Log;
use super::{Failure, NoVerdict};
use route::ExecSettings;

/// Longest line of the program.
const MAX_LINE_BYTES: usize = 64 * 1024;
/// How long the rest of standard error is passed on after the program was killed.
const LAST_WORDS: Duration = Duration::from_millis(50);

/// A running program. Dropping it kills the process group.
#[derive(Debug)]
pub(super) struct Program {
    /// `None` once it has ended.
    child: Option<Child>,
    pipes: Pipes,
    /// `None` only while this value is dropped.
    runtime: Option<Runtime>,
}

#[derive(Debug)]
struct Pipes {
    stdin: Sender,
    stdout: Receiver,
    /// `None` once the program has closed it.
    stderr: Option<Receiver>,
    log: Log,
    /// The bytes read from `stdout` so far.
    read: Vec<u8>,
}

impl Program {
    /// Starts the program in a process group of its own.
    pub(super) fn spawn(settings: &ExecSettings) -> Result<Self, NoVerdict> {
        let name = settings.command.first().map_or("", String::as_str);
        let failed = |error: io::Error| Failure::Start.because(format!("{name}: {error}"));
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let mut child = Command::new(name)
            .args(settings.command.iter().skip(1))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let (pid, entered) = (Pid::from_child(&child), runtime.enter());
        let pipes = Pipes::to(&mut child, Log::new(name));
        drop(entered);
        let pipes = pipes.inspect_err(|_| drop(kill(&mut child))).map_err(failed)?;
        let program = Program { child: Some(child), pipes, runtime: Some(runtime) };
        // From here on, an error drops the program, which kills it.
        if let Some(mib) = settings.max_memory_mib {
            limit_memory(pid, mib).map_err(|error| failed(error.into()))?;
        }
        Ok(program)
    }

    /// Sends a line, unless `question` is empty, and waits for the program's next line. `None` if none arrives before the
    /// deadline.
    pub(super) fn ask(
        &mut self,
        question: &[u8],
        deadline: Instant,
    ) -> Result<Option<Vec<u8>>, NoVerdict> {
        let Program { child, pipes, runtime: Some(runtime) } = self else { return Ok(None) };
        let exchange = async { timeout_at(deadline.into(), pipes.exchange(question)).await };
        let Ok(answer) = runtime.block_on(exchange) else { return Ok(None) };
        let died = |NoVerdict { failure, why: what }| {
            if failure != Some(Failure::Died) {
                return NoVerdict { failure, why: what };
            }
            let status = child.take().and_then(|mut child| kill(&mut child).ok());
            let last_words = async { while hear(&mut pipes.stderr, &mut pipes.log).await {} };
            let _ = runtime.block_on(async { timeout(LAST_WORDS, last_words).await });
            Failure::Died.because(match status {
                // Most likely it ran until it was killed just now.
                Some(status) if status.signal() == Some(9) => format!("it {what} or was killed"),
                Some(status) => format!("it ended with {status}"),
                None => format!("it {what}"),
            })
        };
        answer.map(Some).map_err(died)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.as_mut().map(kill);
        self.pipes.log.end();
        // Without waiting, which is not allowed where a task of another runtime drops this.
        let _ = self.runtime.take().map(Runtime::shutdown_background);
    }
}

impl Pipes {
    fn to(child: &mut Child, log: Log) -> io::Result<Self> {
        fn fd(pipe: Option<impl Into<OwnedFd>>) -> io::Result<OwnedFd> {
            pipe.map(Into::into).ok_or_else(|| io::Error::other("no pipe to it"))
        }
        Ok(Pipes {
            stdin: Sender::from_owned_fd(fd(child.stdin.take())?)?,
            stdout: Receiver::from_owned_fd(fd(child.stdout.take())?)?,
            stderr: Some(Receiver::from_owned_fd(fd(child.stderr.take())?)?),
            log,
            read: Vec::new(),
        })
    }

    async fn exchange(&mut self, mut question: &[u8]) -> Result<Vec<u8>, NoVerdict> {
        if !question.is_empty() {
            yield_now().await; // the runtime looks at the pipes
            has_read(self.stdout.try_read_buf(&mut self.read))?;
            if !self.read.is_empty() {
                return Err(Failure::Flooded.because("it wrote without being asked"));
            }
        }
        loop {
            if let Some(line) = self.take_line()? {
                if !question.is_empty() {
                    return Err(Failure::Nonsense.because("it answered half a question"));
                }
                return Ok(line);
            }
            tokio::select! {
                count = self.stdin.write(question), if !question.is_empty() => match count {
                    Ok(count) => question = &question[count..],
                    Err(_) => return Err(Failure::Died.because("closed its input")),
                },
                count = self.stdout.read_buf(&mut self.read) => has_read(count)?,
                _ = hear(&mut self.stderr, &mut self.log), if self.stderr.is_some() => {}
            }
        }
    }

    /// The line read so far, if it is complete. Fails if it is too long or followed by more bytes.
    fn take_line(&mut self) -> Result<Option<Vec<u8>>, NoVerdict> {
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
}

/// Passes on a part of standard error. Returns whether there may be more.
async fn hear(stderr: &mut Option<Receiver>, log: &mut Log) -> bool {
    let mut buffer = [0; 4 * 1024];
    let Some(pipe) = stderr else { return false };
    match pipe.read(&mut buffer).await {
        Ok(count @ 1..) => log.write(&buffer[..count]),
        _ => *stderr = None,
    }
    stderr.is_some()
}

fn has_read(count: io::Result<usize>) -> Result<(), NoVerdict> {
    match count {
        Ok(0) => Err(Failure::Died.because("closed its output")),
        Err(error) if error.kind() != ErrorKind::WouldBlock => {
            Err(Failure::Died.because("broke its output"))
        }
        _ => Ok(()),
    }
}

/// Kills the process group and waits for the program, so that no zombie is left.
fn kill(child: &mut Child) -> io::Result<ExitStatus> {
    // The group has the program's process id, which stays taken until `wait`. Both fail if nothing is left to kill.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.kill();
    child.wait()
}

/// Limits the memory that the process may allocate. The process already runs, but has not been asked anything yet.
///
/// The limit counts writable private memory. A limit on the address space would also count memory that runtimes such as
/// Node and Go only reserve.
fn limit_memory(pid: Pid, mib: u32) -> rustix::io::Result<()> {
    let bytes = Some(u64::from(mib) << 20);
    prlimit(Some(pid), Resource::Data, Rlimit { current: bytes, maximum: bytes }).map(drop)
}
