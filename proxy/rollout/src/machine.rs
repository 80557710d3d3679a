//! The nginx of one machine: checks its files, reloads it, and asks which split it serves.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use procfs::process::Process;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::lock::Lock;
use crate::split::{ServedRoute, Split};
use crate::traffic::{self, Patience, Traffic, title};

/// A check takes milliseconds, but it may wait for DNS.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);
const CHECK_POLL: Duration = Duration::from_millis(5);
/// Workers start within milliseconds, but may take seconds on a busy machine.
pub(crate) const PATIENCE: Patience =
    Patience { total: Duration::from_secs(10), pause: Duration::from_millis(20) };
/// If nginx serves the old split this long after the old file was put back, it has read that file or cannot reload at
/// all.
const STILL_SERVES: Duration = Duration::from_secs(2);

/// The nginx of this machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its prefix, with its configuration and `nginx.pid`.
    pub dir: PathBuf,
    /// The address of its admin listener.
    pub admin: SocketAddr,
}

/// A reload in progress, with the process ids of the workers from before it.
pub(crate) struct Reloading(Vec<i32>);

impl Reloading {
    /// Whether all workers from before the reload have stopped accepting connections. The title of a worker that only
    /// finishes its requests contains "shutting down".
    fn is_over(&self) -> bool {
        let is_leaving = |title: String| title.is_empty() || title.contains("shutting down");
        self.0.iter().all(|&worker| is_leaving(title(worker)))
    }

    /// Waits until it is over.
    pub(crate) fn finish(&self) -> anyhow::Result<()> {
        let late = |total| {
            format!("nginx has not loaded the files after {total:?}; its log shows the reason")
        };
        PATIENCE.wait(&AtomicBool::new(false), late, |_| self.is_over())
    }
}

impl Machine {
    fn master(&self) -> anyhow::Result<Pid> {
        let text = fs::read_to_string(self.dir.join("nginx.pid")).unwrap_or_default();
        let pid = text.trim().parse().ok().and_then(Pid::from_raw);
        // A pid file outlives a killed master, and another process may have the number by now.
        let pid = pid.filter(|pid| title(pid.as_raw_pid()).contains("nginx"));
        pid.with_context(|| match traffic::ask(self.admin, "/livez") {
            Ok(_) => format!(
                "the master process of the nginx that answers at {} has ended; carve starts it again",
                self.admin
            ),
            Err(_) => format!("no nginx runs from {}", self.dir.display()),
        })
    }

    /// Waits for the right to reload, which all routes share, so that no reload loads another route's unchecked file.
    pub(crate) fn turn(&self) -> anyhow::Result<Lock> {
        Lock::wait(&self.dir)
    }

    /// Checks the files that nginx is to read, with `nginx -t`. The error has nginx' message.
    pub fn check(&self) -> anyhow::Result<()> {
        let mut command = Command::new("nginx");
        command.args(["-t", "-q", "-e", "stderr", "-p"]).arg(&self.dir);
        command.arg("-c").arg(self.dir.join("nginx.conf"));
        // Ctrl-C must reach only carve, which then undoes the change.
        let mut child = command.process_group(0).stderr(Stdio::piped()).spawn().context("nginx")?;
        let since = Instant::now();
        while child.try_wait()?.is_none() {
            if since.elapsed() > CHECK_TIMEOUT {
                let group = Pid::from_child(&child);
                kill_process_group(group, Signal::KILL).context("nginx -t")?;
                child.wait()?;
                bail!("nginx -t has not ended after {CHECK_TIMEOUT:?}");
            }
            thread::sleep(CHECK_POLL);
        }
        let output = child.wait_with_output()?;
        let message = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "nginx: {}", message.trim());
        Ok(())
    }

    pub(crate) fn reload(&self) -> anyhow::Result<Reloading> {
        let master = self.master()?;
        let old_workers = workers(master.as_raw_pid()).context(
            "nginx' workers are not visible in /proc, so the end of a reload cannot be detected",
        )?;
        kill_process(master, Signal::HUP).context("the reload signal to nginx failed")?;
        Ok(Reloading(old_workers))
    }
}

/// nginx' workers: the master's children, without the processes that the image starts (`proxy/start.sh`), which a
/// reload does not end.
fn workers(master: i32) -> anyhow::Result<Vec<i32>> {
    let children = Process::new(master)?.task_main_thread()?.children()?;
    let children = children.into_iter().map(u32::cast_signed);
    Ok(children.filter(|&child| title(child).starts_with("nginx")).collect())
}

/// One of its routes.
#[derive(Debug)]
pub(crate) struct OneRoute {
    pub(crate) machine: Machine,
    pub(crate) route: String,
}

impl Traffic for OneRoute {
    fn find(&self) -> anyhow::Result<()> {
        self.machine.master()?;
        self.served().map(drop)
    }

    fn alone(&self, work: &mut dyn FnMut() -> anyhow::Result<()>) -> anyhow::Result<()> {
        let _turn = self.machine.turn()?;
        work()
    }

    fn apply(
        &self,
        split: &Split,
        interrupted: &AtomicBool,
        reached: &mut bool,
    ) -> anyhow::Result<()> {
        self.machine.check()?;
        ensure!(!interrupted.load(Ordering::Relaxed), "interrupted");
        let reloading = self.machine.reload()?;
        *reached = true;
        // Check the old workers first: while they accept, the next answer may come from one of them.
        let is_served =
            |_| reloading.is_over() && self.served().is_ok_and(|served| served == *split);
        PATIENCE.wait(interrupted, traffic::late("nginx"), is_served)
    }

    fn put_back(&self, old: &Split) -> anyhow::Result<()> {
        let reloading = self.machine.reload()?;
        let late = |_| "nginx does not serve the old split again".to_owned();
        PATIENCE.wait(&AtomicBool::new(false), late, |elapsed| {
            let serves = self.served().is_ok_and(|served| served == *old);
            // If nginx could not load the new file, it may be unable to reload at all.
            serves && (reloading.is_over() || elapsed > STILL_SERVES)
        })
    }

    fn served(&self) -> anyhow::Result<Split> {
        traffic::served(self.machine.admin, &self.route)
    }

    fn stop(&self) -> anyhow::Result<()> {
        PATIENCE.wait_for_stop(|| traffic::is_stopped(self.machine.admin, &self.route))
    }

    fn routes(&self) -> anyhow::Result<Vec<ServedRoute>> {
        traffic::routes(self.machine.admin)
    }
}
