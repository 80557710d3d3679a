//! supervisord, by its own two programs.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use crate::readiness::POLL;
use crate::settings::Part;

/// Parts get 15 s each to end, in two groups.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(40);

/// A part as supervisord sees it.
#[derive(Debug)]
pub struct State {
    /// The part's name, without its group.
    pub name: String,
    /// RUNNING, STARTING, BACKOFF, FATAL, EXITED, STOPPED ...
    pub state: String,
    /// The rest of the line: process id and uptime, or what went wrong.
    pub detail: String,
}

impl State {
    /// Whether it ended by itself.
    pub fn has_failed(&self) -> bool {
        matches!(self.state.as_str(), "BACKOFF" | "FATAL" | "EXITED" | "UNKNOWN")
    }
}

/// The supervisord of one run folder.
#[derive(Clone, Debug)]
pub struct Supervisor {
    conf: PathBuf,
}

impl Supervisor {
    /// The one with this configuration, running or not.
    pub fn new(conf: PathBuf) -> Self {
        Supervisor { conf }
    }

    /// Starts it in the background.
    ///
    /// # Errors
    /// What supervisord says.
    pub fn start(&self) -> anyhow::Result<()> {
        let mut command = Command::new("supervisord");
        let output = command.arg("-c").arg(&self.conf).stdin(Stdio::null()).output();
        let output = output.context("supervisord")?;
        ensure!(output.status.success(), "supervisord: {}", said(&output));
        Ok(())
    }

    /// Starts it so that it ends with this process, however that ends. The system counts the
    /// *thread* that started a process as its parent there, so a thread of its own waits for it.
    ///
    /// # Errors
    /// Where it can't be started.
    pub fn start_bound(&self, log: &Path) -> anyhow::Result<JoinHandle<()>> {
        let log = File::create(log).with_context(|| log.display().to_string())?;
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "--", "supervisord", "-n", "-c"]).arg(&self.conf);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        // Ctrl-C is for the command that runs beside it.
        command.process_group(0);
        let (started, told) = mpsc::channel();
        let keeper = thread::spawn(move || match command.spawn() {
            Ok(mut child) => {
                // Where nobody listens any more, the test is over already.
                let _ = started.send(Ok(()));
                let _ = child.wait();
            }
            Err(error) => drop(started.send(Err(error))),
        });
        told.recv().unwrap_or_else(|_| Err(io::Error::other("ended"))).context("supervisord")?;
        Ok(keeper)
    }

    /// Its process id, where it runs.
    pub fn pid(&self) -> Option<u32> {
        let output = self.ctl(&["pid"]).ok()?;
        String::from_utf8_lossy(&output.stdout).trim().parse().ok()
    }

    /// Every part's state.
    ///
    /// # Errors
    /// Where supervisord doesn't answer.
    pub fn states(&self) -> anyhow::Result<Vec<State>> {
        let output = self.ctl(&["status"])?;
        let text = String::from_utf8_lossy(&output.stdout);
        let states: Vec<State> = text.lines().filter_map(parse_state).collect();
        ensure!(states.len() == Part::ALL.len(), "supervisorctl: {}", said(&output));
        Ok(states)
    }

    /// A part's process id, where it runs.
    ///
    /// # Errors
    /// Where supervisord doesn't answer.
    pub fn pid_of(&self, part: Part) -> anyhow::Result<Option<u32>> {
        let output = self.ctl(&["pid", &part.supervised_name()])?;
        let text = String::from_utf8_lossy(&output.stdout);
        let pid = text.trim().parse().with_context(|| said(&output))?;
        Ok((pid != 0).then_some(pid))
    }

    /// Starts a part; it runs, if not yet ready, on return.
    ///
    /// # Errors
    /// What supervisord says.
    pub fn start_part(&self, part: Part) -> anyhow::Result<()> {
        self.order(&["start", &part.supervised_name()])
    }

    /// Stops a part; it has ended on return.
    ///
    /// # Errors
    /// What supervisord says.
    pub fn stop_part(&self, part: Part) -> anyhow::Result<()> {
        self.order(&["stop", &part.supervised_name()])
    }

    /// Stops every part and itself; all have ended on return. Nothing to do where it doesn't run.
    ///
    /// # Errors
    /// Where it does not end.
    pub fn shutdown(&self) -> anyhow::Result<()> {
        let Some(pid) = self.pid() else { return Ok(()) };
        self.order(&["shutdown"])?;
        let deadline = Instant::now() + SHUTDOWN_TIMEOUT;
        while is_alive(pid) {
            if Instant::now() > deadline {
                bail!("supervisord (process {pid}) does not end");
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    fn order(&self, args: &[&str]) -> anyhow::Result<()> {
        let output = self.ctl(args)?;
        let text = said(&output);
        // supervisorctl says ERROR and exits with 0 on some of them.
        ensure!(output.status.success() && !text.contains("ERROR"), "supervisorctl: {text}");
        Ok(())
    }

    fn ctl(&self, args: &[&str]) -> anyhow::Result<Output> {
        let mut command = Command::new("supervisorctl");
        command.arg("-c").arg(&self.conf).args(args).stdin(Stdio::null());
        command.output().context("supervisorctl")
    }
}

/// Whether a process is there and not a zombie.
pub fn is_alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or("").trim_start().starts_with('Z'))
}

fn parse_state(line: &str) -> Option<State> {
    let mut words = line.split_whitespace();
    let (_, name) = words.next()?.split_once(':')?;
    Some(State {
        name: name.to_owned(),
        state: words.next()?.to_owned(),
        detail: words.collect::<Vec<_>>().join(" "),
    })
}

fn said(output: &Output) -> String {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&text).trim().to_owned()
}
