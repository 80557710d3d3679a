//! The running nginx, or all of a cluster's: the check, the reload, and what is served.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::change::current;
use crate::cluster::Cluster;
use crate::{Split, http};

const ADMIN_TIMEOUT: Duration = Duration::from_secs(2);
/// Generous: starting workers takes milliseconds, but not on a machine with no time for it.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(10);
/// And a proxy that has just gone is among the names for some seconds more.
const CLUSTER_TIMEOUT: Duration = Duration::from_secs(60);

/// Whose split is moved.
#[derive(Clone, Debug)]
pub struct Nginx {
    /// `split.conf` and what ramp writes beside it. Of one nginx: its prefix, with its configuration
    /// and `nginx.pid`. Of a cluster: a folder of ramp's own, with a copy of the cluster's split.
    pub dir: PathBuf,
    /// Where it is.
    pub at: At,
}

/// Where an nginx is.
#[derive(Clone, Debug)]
pub enum At {
    /// On this machine, with its admin listener at that address.
    Here(SocketAddr),
    /// In a cluster, maybe several times.
    Cluster(Cluster),
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
        if let At::Cluster(_) = self.at {
            return Ok(()); // whoever follows the cluster's split checks it there
        }
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
        match &self.at {
            At::Here(admin) => ask_served(*admin),
            At::Cluster(cluster) => cluster.served(),
        }
    }

    /// Whether there is one to be told of a change.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn find(&self) -> anyhow::Result<()> {
        if let At::Here(_) = self.at {
            self.master()?;
        }
        self.served().map(drop)
    }

    /// How long it may take until a change is served.
    pub(crate) fn patience(&self) -> Duration {
        match self.at {
            At::Here(_) => RELOAD_TIMEOUT,
            At::Cluster(_) => CLUSTER_TIMEOUT,
        }
    }

    /// Between two looks whether it is.
    pub(crate) fn poll(&self) -> Duration {
        match self.at {
            At::Here(_) => Duration::from_millis(20),
            At::Cluster(_) => Duration::from_millis(250),
        }
    }

    /// The master's process id.
    ///
    /// # Errors
    /// Where none runs from the folder.
    fn master(&self) -> anyhow::Result<Pid> {
        let file = self.dir.join("nginx.pid");
        let text = fs::read_to_string(&file).unwrap_or_default();
        let pid = text.trim().parse().ok().and_then(Pid::from_raw).filter(|pid| is_nginx(*pid));
        pid.with_context(|| format!("no nginx runs from {}", self.dir.display()))
    }

    /// Has the master read its configuration anew; tells the cluster what the folder's file says.
    pub(crate) fn reload(&self) -> anyhow::Result<Reloading> {
        if let At::Cluster(cluster) = &self.at {
            cluster.publish(&current(&self.dir)?)?;
            // Each proxy's own workers are waited for where the proxy is.
            return Ok(Reloading { old_workers: Vec::new() });
        }
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

/// What an nginx serves, by its admin listener.
pub(crate) fn ask_served(admin: SocketAddr) -> anyhow::Result<Split> {
    let url = format!("http://{admin}/split");
    let (status, body) = http::get(&url, ADMIN_TIMEOUT)
        .with_context(|| format!("nginx does not answer at {admin}"))?;
    ensure!(status == 200, "{url} answers {status}");
    Split::from_json(&body).with_context(|| format!("{url} says {body:?}"))
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
