//! The running nginx: its check, its reload, and what it serves.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::{Split, http};

const ADMIN_TIMEOUT: Duration = Duration::from_secs(2);

/// One nginx.
#[derive(Clone, Debug)]
pub struct Nginx {
    /// Its prefix, with its configuration and `nginx.pid`.
    pub dir: PathBuf,
    /// Its admin listener.
    pub admin: SocketAddr,
}

/// A master and the workers that it had before a reload.
pub(crate) struct Reloading {
    old_workers: Vec<u32>,
}

impl Nginx {
    /// `nginx -t`.
    ///
    /// # Errors
    /// What nginx says.
    pub fn check(&self) -> anyhow::Result<()> {
        let mut command = Command::new("nginx");
        command.args(["-t", "-q", "-e", "stderr", "-p"]).arg(&self.dir);
        command.arg("-c").arg(self.dir.join("nginx.conf"));
        // Ctrl-C is for whoever waits for it, who then puts things back.
        let output = command.process_group(0).output().context("nginx")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "nginx: {}", said.trim());
        Ok(())
    }

    /// What it serves, asked over a new connection.
    ///
    /// # Errors
    /// Where it doesn't answer, or not as this project's configuration has it.
    pub fn served(&self) -> anyhow::Result<Split> {
        let url = format!("http://{}/split", self.admin);
        let (status, body) = http::get(&url, ADMIN_TIMEOUT)
            .with_context(|| format!("nginx does not answer at {}", self.admin))?;
        ensure!(status == 200, "{url} answers {status}");
        Split::from_json(&body).with_context(|| format!("{url} says {body:?}"))
    }

    /// The master's process id.
    ///
    /// # Errors
    /// Where none runs from the folder.
    pub(crate) fn master(&self) -> anyhow::Result<Pid> {
        let file = self.dir.join("nginx.pid");
        let text = fs::read_to_string(&file).unwrap_or_default();
        let pid = text.trim().parse().ok().and_then(Pid::from_raw).filter(|pid| is_nginx(*pid));
        pid.with_context(|| format!("no nginx runs from {}", self.dir.display()))
    }

    /// Has the master read its configuration anew.
    pub(crate) fn reload(&self) -> anyhow::Result<Reloading> {
        let master = self.master()?;
        let old_workers = children(master);
        kill_process(master, Signal::HUP).context("nginx can't be told to reload")?;
        Ok(Reloading { old_workers })
    }
}

impl Reloading {
    /// Whether no worker from before accepts a connection any more.
    pub(crate) fn is_over(&self) -> bool {
        self.old_workers.iter().all(|&worker| is_leaving(worker))
    }
}

/// A pid file outlives a killed master, and its number may be another's by now.
fn is_nginx(pid: Pid) -> bool {
    title(pid.as_raw_nonzero().get().cast_unsigned()).contains("nginx")
}

fn children(pid: Pid) -> Vec<u32> {
    let pid = pid.as_raw_nonzero();
    let file = PathBuf::from(format!("/proc/{pid}/task/{pid}/children"));
    let list = read(&file);
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Workers say in their title that they only finish what they have; then they accept no more.
fn is_leaving(worker: u32) -> bool {
    let title = title(worker);
    title.is_empty() || title.contains("shutting down")
}

fn title(pid: u32) -> String {
    read(&PathBuf::from(format!("/proc/{pid}/cmdline")))
}

/// Empty where the process is gone.
fn read(file: &Path) -> String {
    fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
