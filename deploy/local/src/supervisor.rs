//! supervisord and its parts, driven by `supervisord` and `supervisorctl` (ADR 8).

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use procfs::process::Process;
use rustix::process::Pid;

use crate::settings::Part;

/// supervisord gives each part 15 s to end, and stops the parts in two groups.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(40);

/// The supervisord of one run folder.
#[derive(Clone, Debug)]
pub struct Supervisor {
    conf: PathBuf,
}

impl Supervisor {
    /// The supervisord with this configuration, whether it runs or not.
    pub fn new(conf: PathBuf) -> Self {
        Supervisor { conf }
    }

    /// Starts it in the background.
    ///
    /// # Errors
    /// supervisord's own message.
    pub fn start(&self) -> anyhow::Result<()> {
        let mut command = Command::new("supervisord");
        command.arg("-c").arg(&self.conf).stdin(Stdio::null());
        succeeds(command).map(drop)
    }

    /// Starts it so that it ends with this process, however that ends. The parent-death signal fires
    /// when the *thread* that started the process ends, so a thread is kept for it.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start_bound(&self, log: &Path) -> anyhow::Result<JoinHandle<()>> {
        let mut log = File::create(log).with_context(|| log.display().to_string())?;
        // Not the file itself: supervisord ends if the disk is full and it cannot say so.
        let (mut said, says) = io::pipe()?;
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "--", "supervisord", "-n", "-c"]).arg(&self.conf);
        command.stdin(Stdio::null()).stdout(says.try_clone()?).stderr(says);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = said.read(&mut bytes) {
                let _ = log.write_all(&bytes[..count]);
            }
        });
        // Ctrl-C is for the command that `carve with` runs, not for the stack.
        command.process_group(0);
        let (sender, spawned) = mpsc::channel();
        let keeper = thread::spawn(move || match command.spawn() {
            Ok(mut child) => {
                // Fails only if the caller is gone, and then the stack ends anyway.
                let _ = sender.send(Ok(()));
                let _ = child.wait();
            }
            Err(error) => drop(sender.send(Err(error))),
        });
        spawned.recv().unwrap_or_else(|_| Err(io::Error::other("ended"))).context("supervisord")?;
        Ok(keeper)
    }

    /// Its process id, if it runs.
    pub fn pid(&self) -> Option<Pid> {
        self.ctl(&["pid"]).ok().and_then(|text| parse_pid(&text))
    }

    /// Every part with supervisord's words on it: its state (RUNNING, STARTING, BACKOFF, FATAL,
    /// EXITED, STOPPED), then process id and uptime, or what went wrong.
    ///
    /// # Errors
    /// If supervisord does not answer.
    pub fn states(&self) -> anyhow::Result<Vec<(Part, String)>> {
        // It exits with 3 if not all parts run.
        let output = self.ctl_command(&["status"]).output().context("supervisorctl")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let states: Vec<(Part, String)> = text.lines().filter_map(parse_state).collect();
        ensure!(!states.is_empty(), "supervisorctl: {}", message(&output));
        Ok(states)
    }

    /// A part's process id.
    ///
    /// # Errors
    /// If the part does not run.
    pub fn pid_of(&self, part: Part) -> anyhow::Result<Pid> {
        let text = self.ctl(&["pid", part.supervised_name()]).ok();
        let pid = text.and_then(|text| parse_pid(&text));
        pid.with_context(|| format!("{} is not running", part.name()))
    }

    /// Starts a part. It runs on return, but may not be ready yet.
    ///
    /// # Errors
    /// supervisorctl's message.
    pub fn start_part(&self, part: Part) -> anyhow::Result<()> {
        self.ctl(&["start", part.supervised_name()]).map(drop)
    }

    /// Stops a part. It has ended on return.
    ///
    /// # Errors
    /// supervisorctl's message.
    pub fn stop_part(&self, part: Part) -> anyhow::Result<()> {
        self.ctl(&["stop", part.supervised_name()]).map(drop)
    }

    /// Stops every part and supervisord, if it runs. All have ended on return.
    ///
    /// # Errors
    /// If it does not end.
    pub fn shutdown(&self) -> anyhow::Result<()> {
        let Some(pid) = self.pid() else { return Ok(()) };
        // Without the edge no partner can come to those who wait, so the relays need no delay: their second
        // signal, which is supervisord's, ends them at once. Each may be missing or may have ended.
        let _ = self.ctl(&["stop", "edge:*"]);
        let relays = [Part::RelayService, Part::LegacyRelay].map(Part::supervised_name);
        let _ = self.ctl(&["signal", "TERM", relays[0], relays[1]]);
        self.ctl(&["shutdown"])?;
        let deadline = Instant::now() + SHUTDOWN_TIMEOUT;
        while is_alive(pid) {
            if Instant::now() > deadline {
                bail!("supervisord (process {}) does not end", pid.as_raw_nonzero());
            }
            thread::sleep(Duration::from_millis(30));
        }
        Ok(())
    }

    fn ctl(&self, args: &[&str]) -> anyhow::Result<String> {
        succeeds(self.ctl_command(args))
    }

    fn ctl_command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("supervisorctl");
        command.arg("-c").arg(&self.conf).args(args).stdin(Stdio::null());
        command
    }
}

/// Whether a part in this state ended by itself.
pub fn has_failed(state: &str) -> bool {
    ["BACKOFF", "FATAL", "EXITED", "UNKNOWN"].iter().any(|failed| state.starts_with(failed))
}

/// Whether a process runs; a zombie does not.
pub fn is_alive(pid: Pid) -> bool {
    let stat = Process::new(pid.as_raw_nonzero().get()).and_then(|process| process.stat());
    stat.is_ok_and(|stat| stat.state != 'Z')
}

/// supervisorctl's "0" is no process.
fn parse_pid(text: &str) -> Option<Pid> {
    text.trim().parse().ok().and_then(Pid::from_raw)
}

fn parse_state(line: &str) -> Option<(Part, String)> {
    let (name, state) = line.split_once(' ')?;
    // supervisorctl shortens NAME:NAME to NAME.
    let whole = if name.contains(':') { name.to_owned() } else { format!("{name}:{name}") };
    let part = Part::ALL.into_iter().find(|part| part.supervised_name() == whole)?;
    Some((part, state.trim().to_owned()))
}

/// The output of a program that has to succeed.
fn succeeds(mut command: Command) -> anyhow::Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| program.clone())?;
    ensure!(output.status.success(), "{program}: {}", message(&output));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn message(output: &Output) -> String {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&text).trim().to_owned()
}
