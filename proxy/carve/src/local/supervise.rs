//! The process that starts the parts, restarts those that end, writes their logs, and stops them in order (ADR 8).

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::iter;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context;
use edge::log_file::LogFile;
use parking_lot::{Condvar, Mutex};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, getpid, getrlimit, kill_process,
    kill_process_group, set_child_subreaper, setrlimit, waitid,
};
use serde::{Deserialize, Serialize};

use super::parts::{PartSpec, Parts, log_in};

/// A part that ends within this time of its start counts as one that did not start. nginx tries for 2.5 s to listen on
/// a port that is taken.
const COUNTS_AS_STARTED: Duration = Duration::from_secs(3);
/// The pause before a part that does not start is tried again; doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// How long a part may take to end before it is killed.
const ENDS_WITHIN: Duration = Duration::from_secs(15);
/// How long the processes that a killed part leaves behind may take to finish open requests. Shorter than nginx tries to
/// listen, so that workers that hang cost one try at most.
const ORPHANS_END_WITHIN: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(20);
/// Two signals sent at once may arrive as one.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(100);
/// How long to wait at the end for the last output of the parts to be written.
const LAST_LINES: Duration = Duration::from_secs(1);
/// The number of open files that parts are allowed, if the default is lower.
const OPEN_FILES: u64 = 8192;

/// The state of a part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartState {
    /// The part.
    pub part: String,
    /// Its process, if it runs.
    pub pid: Option<i32>,
    /// How long it has run, or has not run, in seconds.
    pub seconds: u64,
    /// Whether it has been stopped by hand.
    pub is_stopped: bool,
    /// How it ended, if it ended by itself within a second of its last start.
    pub failure: Option<String>,
}

/// A request over the socket. Each is answered with the resulting [`States`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    States,
    /// Starts a part; answered once it runs.
    Start(String),
    /// Stops a part; answered once it has ended.
    Stop(String),
    /// Ends all parts, then the supervisor; answered once all parts have ended.
    End,
}

/// The supervisor's process id and the states of its parts.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct States {
    pub(crate) pid: i32,
    pub(crate) parts: Vec<PartState>,
}

/// Runs the parts of a run folder until a request over the socket ends it, or until `ended` returns; in that case it
/// returns the result of `ended`. Fails if the run folder has no parts, or the socket cannot be used.
pub fn run(
    run_dir: &Path,
    ended: impl FnOnce() -> anyhow::Result<()> + Send + 'static,
) -> anyhow::Result<()> {
    let Parts { socket, part, .. } = Parts::here(run_dir)?;
    raise_limit_of_open_files();
    // Makes what a killed part leaves behind this process's children, see `end_group`.
    set_child_subreaper(Some(getpid())).context("PR_SET_CHILD_SUBREAPER")?;
    // A leftover socket: callers check first that no supervisor runs in this folder.
    let _ = fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket).with_context(|| socket.display().to_string())?;
    // Each thread that reads a part's output holds a sender. Once all are dropped, everything is written.
    let (writing, written) = channel();
    let parts: Vec<_> = part.into_iter().map(|spec| Arc::new(SupervisedPart::new(spec))).collect();
    let keepers: Vec<_> = parts
        .iter()
        .map(|part| {
            let (part, run_dir, writing) = (Arc::clone(part), run_dir.to_owned(), writing.clone());
            thread::spawn(move || part.keep(&run_dir, &writing))
        })
        .collect();
    drop(writing);
    let (end, told_to_end) = channel();
    let signalled = end.clone();
    thread::spawn(move || signalled.send(End::Own(ended())));
    let asked = parts.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (parts, end) = (asked.clone(), end.clone());
            thread::spawn(move || answer(stream, &parts, &end));
        }
    });
    let end = told_to_end.recv()?;
    stop_all(&parts);
    for keeper in keepers {
        // A keeper that has panicked has no process left to wait for.
        let _ = keeper.join();
    }
    let _ = written.recv_timeout(LAST_LINES);
    let _ = fs::remove_file(&socket);
    match end {
        End::Own(result) => result,
        End::Asked(stream) => Ok(reply(stream, &parts)?),
    }
}

/// What ends the supervisor: its own process (a signal), or a client that waits for an answer.
enum End {
    Own(anyhow::Result<()>),
    Asked(UnixStream),
}

/// Answers one request. Passes a request to end on to [`run`], which answers it.
fn answer(stream: UnixStream, parts: &[Arc<SupervisedPart>], end: &Sender<End>) {
    let mut line = String::new();
    if BufReader::new(&stream).read_line(&mut line).is_err() {
        return;
    }
    let of = |wanted: String| parts.iter().find(|part| part.spec.name == wanted);
    match serde_json::from_str(&line) {
        Ok(Request::Start(part)) => of(part).into_iter().for_each(|part| part.start()),
        Ok(Request::Stop(part)) => of(part).into_iter().for_each(|part| part.want(Goal::Stopped)),
        Ok(Request::End) => return drop(end.send(End::Asked(stream))),
        Ok(Request::States) => {}
        Err(_) => return,
    }
    // Fails if the client is gone.
    let _ = reply(stream, parts);
}

fn reply(mut stream: UnixStream, parts: &[Arc<SupervisedPart>]) -> io::Result<()> {
    let parts = parts.iter().map(|part| part.state()).collect();
    let pid = std::process::id().cast_signed();
    serde_json::to_writer(&mut stream, &States { pid, parts })?;
    stream.write_all(b"\n")
}

/// Stops the edge parts first, so that requests in flight still reach their servers. Without the edge, no partner can
/// reach a client that waits for one, so parts that would let it wait get two signals and end without their delay.
fn stop_all(parts: &[Arc<SupervisedPart>]) {
    for is_edge in [true, false] {
        let now = parts.iter().filter(|part| part.spec.is_edge == is_edge);
        let twice: Vec<_> = now.clone().filter(|part| part.spec.ends_at_second_signal).collect();
        if !twice.is_empty() {
            twice.iter().for_each(|part| part.signal(Signal::TERM));
            thread::sleep(BETWEEN_SIGNALS);
        }
        thread::scope(|scope| {
            for part in now {
                scope.spawn(|| part.want(Goal::Ended));
            }
        });
    }
}

/// A part and its current state.
struct SupervisedPart {
    spec: PartSpec,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    wanted: Goal,
    pid: Option<Pid>,
    since: Instant,
    failure: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Goal {
    Running,
    Stopped,
    Ended,
}

impl SupervisedPart {
    fn new(spec: PartSpec) -> Self {
        let state =
            State { wanted: Goal::Running, pid: None, since: Instant::now(), failure: None };
        SupervisedPart { spec, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> PartState {
        let state = self.state.lock();
        PartState {
            part: self.spec.name.clone(),
            pid: state.pid.map(|pid| pid.as_raw_nonzero().get()),
            seconds: state.since.elapsed().as_secs(),
            is_stopped: state.wanted != Goal::Running,
            failure: state.failure.clone(),
        }
    }

    /// Keeps the part running until it is to end. Blocks this thread, because a part's parent-death signal fires when
    /// the thread that started it ends.
    fn keep(&self, run_dir: &Path, writing: &Sender<()>) {
        let mut pause = FIRST_PAUSE;
        let mut leaving: Option<JoinHandle<()>> = None;
        loop {
            let mut state = self.state.lock();
            self.changed.wait_while(&mut state, |state| state.wanted == Goal::Stopped);
            if state.wanted == Goal::Ended {
                drop(state);
                let _ = leaving.map(JoinHandle::join);
                return;
            }
            let (name, started) = (&*self.spec.name, Instant::now());
            let child = self.spawn(run_dir, writing);
            if let Ok(child) = &child {
                state.pid = Pid::from_raw(child.id().cast_signed());
                state.since = started;
                self.changed.notify_all();
            }
            let pid = state.pid;
            drop(state);
            if let Some(pid) = pid {
                // Waits without reaping: the process id stays taken until the lock is held, so that `signal` never hits
                // another process.
                let ends = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
                let _ = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(pid), ends));
            }
            let mut state = self.state.lock();
            let ended = match child.and_then(|mut child| Ok(child.wait()?)) {
                Ok(status) => status.to_string(),
                Err(error) => format!("{error:#}"),
            };
            (state.pid, state.since) = (None, Instant::now());
            let signal = self.spec.stop_signal();
            if let Some(group) = pid {
                leaving = Some(thread::spawn(move || end_group(group, signal)));
            }
            let has_started = started.elapsed() >= COUNTS_AS_STARTED;
            if state.wanted == Goal::Running {
                tracing::warn!(part = name, ended, "a part has ended by itself");
                state.failure = (!has_started).then_some(ended);
            }
            self.changed.notify_all();
            if has_started {
                pause = FIRST_PAUSE;
            } else {
                let is_wanted = |state: &mut State| state.wanted == Goal::Running;
                self.changed.wait_while_for(&mut state, is_wanted, pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }

    /// Starts the part, and a thread that writes its output to its log. The part does not write the file itself, so
    /// that a full disk cannot stop it.
    fn spawn(&self, run_dir: &Path, writing: &Sender<()>) -> anyhow::Result<std::process::Child> {
        let name = &self.spec.name;
        let (said, says) = io::pipe()?;
        let program = self.spec.command.first().with_context(|| format!("{name}: no command"))?;
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "TERM", "--"])
            .args(&self.spec.command)
            .envs(&self.spec.environment)
            .current_dir(run_dir)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(says.try_clone()?)
            .stderr(says)
            .spawn()
            .with_context(|| format!("{program} (by setpriv)"))?;
        let (log, writing) = (log_in(run_dir, name), writing.clone());
        thread::spawn(move || {
            copy(said, &log);
            drop(writing);
        });
        Ok(child)
    }

    fn start(&self) {
        let mut state = self.state.lock();
        if state.wanted == Goal::Stopped {
            (state.wanted, state.failure) = (Goal::Running, None);
        }
        self.changed.notify_all();
        let is_to_start = |state: &mut State| {
            state.wanted == Goal::Running && state.pid.is_none() && state.failure.is_none()
        };
        self.changed.wait_while_for(&mut state, is_to_start, ENDS_WITHIN);
    }

    /// Stops the part: for good (`Ended`) or until it is started (`Stopped`). Returns once its process has ended.
    fn want(&self, wanted: Goal) {
        let mut state = self.state.lock();
        state.wanted = if state.wanted == Goal::Ended { Goal::Ended } else { wanted };
        state.failure = None;
        drop(state);
        self.changed.notify_all();
        self.signal(self.spec.stop_signal());
        let runs = |state: &mut State| state.pid.is_some();
        let waited = self.changed.wait_while_for(&mut self.state.lock(), runs, ENDS_WITHIN);
        if waited.timed_out() {
            tracing::warn!(part = &*self.spec.name, "a part did not end in time and is killed");
            self.signal(Signal::KILL);
            self.changed.wait_while(&mut self.state.lock(), runs);
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.state.lock().pid {
            let send = if signal == Signal::KILL { kill_process_group } else { kill_process };
            // Fails if the process has just ended.
            let _ = send(pid, signal);
        }
    }
}

/// Ends the processes of a group whose leader has ended: nginx' workers after a `kill -9` of their master hold its ports.
/// nginx' stop signal makes them leave the ports at once and finish open requests. They are children of this process, so
/// their group's number is not another group's while any of them is left.
fn end_group(group: Pid, stop: Signal) {
    let ended = || waitid(WaitId::Pgid(Some(group)), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    let are_left = || {
        iter::repeat_with(ended).find(|it| !matches!(it, Ok(Some(_)))).is_some_and(|it| it.is_ok())
    };
    for signal in [stop, Signal::KILL] {
        if are_left() {
            let _ = kill_process_group(group, signal);
        }
        let since = Instant::now();
        while are_left() && since.elapsed() < ORPHANS_END_WITHIN {
            thread::sleep(POLL);
        }
    }
}

/// Copies a part's output to its log until all writers have ended. Drops what cannot be written; the part runs on.
fn copy(mut from: impl Read, to: &Path) {
    let mut log = LogFile::open(to);
    let mut bytes = [0; 8192];
    let mut line_is_whole = true;
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let Some(said) = bytes.get(..count) else { return };
        if let Ok(file) = &mut log {
            let _ = file.write_all(said);
            line_is_whole = said.ends_with(b"\n");
            if line_is_whole {
                let _ = file.flush();
            }
        }
    }
    if let Ok(file) = &mut log
        && !line_is_whole
    {
        let _ = file.write_all(b"\n");
    }
}

/// Raises the limit for the parts, which inherit it. Keeps it if it cannot be raised.
fn raise_limit_of_open_files() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(OPEN_FILES, |maximum| maximum.min(OPEN_FILES));
    if current.is_some_and(|current| current < wanted) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
}
