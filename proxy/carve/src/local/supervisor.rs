//! Starts the process that supervises the parts of a run folder ([`super::supervise`]), and sends it requests.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, bail};
use procfs::process::{Process, all_processes};
use rustix::process::{Pid, Signal, kill_process};

use super::parts::Parts;
use super::supervise::{PartState, Request, States};

/// Each part gets 15 s to end, and they stop in two groups.
const ANSWERS_WITHIN: Duration = Duration::from_secs(40);
const POLL: Duration = Duration::from_millis(20);

/// The supervisor of one run folder.
#[derive(Clone, Debug)]
pub struct Supervisor {
    run_dir: PathBuf,
}

impl Supervisor {
    /// The supervisor of this run folder, which need not be running.
    pub fn new(run_dir: PathBuf) -> Self {
        Supervisor { run_dir }
    }

    /// Starts the supervisor in the background. `carve` is this program's file.
    pub fn start(&self, carve: &Path) -> anyhow::Result<()> {
        self.spawn(Command::new(carve)).map(drop)
    }

    /// Starts the supervisor so that it ends when this process ends in any way. The parent-death signal fires when the
    /// *thread* that started the process ends, so the returned thread lives as long as the supervisor.
    pub fn start_bound(&self, carve: &Path) -> anyhow::Result<JoinHandle<()>> {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "--"]).arg(carve);
        let (sender, spawned) = mpsc::channel();
        let supervisor = self.clone();
        let keeper = thread::spawn(move || match supervisor.spawn(command) {
            Ok(mut child) => {
                // Fails only if the caller is gone, and then the stack ends anyway.
                let _ = sender.send(Ok(()));
                let _ = child.wait();
            }
            Err(error) => drop(sender.send(Err(error))),
        });
        spawned.recv().unwrap_or_else(|_| bail!("the thread has ended"))?;
        Ok(keeper)
    }

    fn spawn(&self, mut command: Command) -> anyhow::Result<Child> {
        let log = self.run_dir.join("log/carve.log");
        let file = OpenOptions::new().append(true).create(true).open(&log);
        let file = file.with_context(|| log.display().to_string())?;
        command.arg("supervise").arg("--run-dir").arg(&self.run_dir).stdin(Stdio::null());
        command.stdout(file.try_clone()?).stderr(file).spawn().context("carve supervise")
    }

    /// Its process id, if it runs.
    pub fn pid(&self) -> Option<Pid> {
        self.ask(Request::States).ok().and_then(|states| Pid::from_raw(states.pid))
    }

    /// The state of every part. Fails if the supervisor does not answer.
    pub fn states(&self) -> anyhow::Result<Vec<PartState>> {
        Ok(self.ask(Request::States)?.parts)
    }

    /// A part's process id. Fails if the part does not run.
    pub fn pid_of(&self, part: &str) -> anyhow::Result<Pid> {
        let states = self.states()?;
        let pid = states.iter().find(|state| state.part == part).and_then(|state| state.pid);
        pid.and_then(Pid::from_raw).with_context(|| format!("{part} is not running"))
    }

    /// Starts a part. Returns once it runs; it may not be ready yet.
    pub fn start_part(&self, part: &str) -> anyhow::Result<()> {
        self.ask(Request::Start(part.to_owned())).map(drop)
    }

    /// Stops a part. Returns once it has ended. It stays stopped.
    pub fn stop_part(&self, part: &str) -> anyhow::Result<()> {
        self.ask(Request::Stop(part.to_owned())).map(drop)
    }

    /// Stops every part and the supervisor, and what is left of a killed one. Returns whether anything
    /// ran, once all have ended. Fails if the supervisor does not answer.
    pub fn shutdown(&self) -> anyhow::Result<bool> {
        match self.ask(Request::End) {
            Ok(_) => return Ok(true),
            Err(error) if is_gone(&error) => {}
            Err(error) => return Err(error),
        }
        let left = self.left();
        for &pid in &left {
            // Fails if it has just ended.
            let _ = kill_process(pid, Signal::KILL);
        }
        while !self.left().is_empty() {
            thread::sleep(POLL);
        }
        Ok(!left.is_empty())
    }

    /// nginx' workers in this run folder that have no master. They hold its ports after a `kill -9` of both the
    /// supervisor and the master.
    fn left(&self) -> Vec<Pid> {
        let Ok(dir) = self.run_dir.canonicalize() else { return Vec::new() };
        let is_ours = |it: &Process| {
            it.cwd().is_ok_and(|cwd| cwd == dir)
                && rollout::title(it.pid).starts_with("nginx: worker")
                && it.stat().is_ok_and(|it| !rollout::title(it.ppid).starts_with("nginx"))
        };
        let all = all_processes().into_iter().flatten().flatten().filter(is_ours);
        all.filter_map(|it| Pid::from_raw(it.pid)).collect()
    }

    /// Says that nothing runs here, or which processes of a killed nginx still answer.
    pub fn nothing_runs(&self) -> String {
        let (dir, left) = (self.run_dir.display(), self.left());
        if left.is_empty() {
            return format!("nothing runs in {dir}");
        }
        let left: Vec<String> = left.iter().map(Pid::to_string).collect();
        let left = left.join(", ");
        format!(
            "the supervisor in {dir} was killed; processes {left} of its nginx still answer until `carve down`"
        )
    }

    fn ask(&self, request: Request) -> anyhow::Result<States> {
        let nothing = || self.nothing_runs();
        let socket = Parts::here(&self.run_dir).with_context(nothing)?.socket;
        let mut stream = UnixStream::connect(&socket).with_context(nothing)?;
        let mut ask = || -> io::Result<States> {
            stream.set_read_timeout(Some(ANSWERS_WITHIN))?;
            stream.write_all((serde_json::to_string(&request)? + "\n").as_bytes())?;
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line)?;
            Ok(serde_json::from_str(&line)?)
        };
        ask().with_context(|| format!("{}: the supervisor does not answer", socket.display()))
    }
}

/// Whether no process listens on the supervisor's socket.
fn is_gone(error: &anyhow::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, NotFound};
    let kind = error.downcast_ref().map(io::Error::kind);
    matches!(kind, Some(ConnectionRefused | NotFound))
}
