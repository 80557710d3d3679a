//! The nginx whose split moves, or all proxies of a cluster: check it, reload it, ask what it serves.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use procfs::process::Process;
use rustix::process::{Pid, Signal, kill_process};

use crate::cluster::Cluster;
use crate::folder::{ROUTE_FILE, prepared, route_dir};
use crate::split::{self, Known, Split};
use crate::state::State;
use crate::{files, lock};
use route::Route;

/// Generous: workers start within milliseconds, but not on a busy machine.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(10);
/// The proxies' name still resolves to a deleted proxy for some seconds.
const CLUSTER_TIMEOUT: Duration = Duration::from_secs(60);

/// The proxy or proxies, and the route whose split moves.
#[derive(Clone, Debug)]
pub struct Nginx {
    /// For one nginx, its prefix, with its configuration and `nginx.pid`. For a cluster, a folder for
    /// a copy of the cluster's splits.
    pub dir: PathBuf,
    /// The route.
    pub route: String,
    /// Where nginx runs.
    pub at: At,
}

/// Where nginx runs.
#[derive(Clone, Debug)]
pub enum At {
    /// On this machine, with its admin listener at this address.
    Here(SocketAddr),
    /// In a cluster, in one or more pods.
    Cluster(Cluster),
}

/// A reload in progress: the workers from before it.
pub(crate) struct Reloading {
    old_workers: Vec<i32>,
}

impl Nginx {
    /// The folder of the route's `split.conf` and of ramp's own files about it.
    pub fn route_dir(&self) -> PathBuf {
        route_dir(&self.dir, &self.route)
    }

    /// Runs `nginx -t`.
    ///
    /// # Errors
    /// The message of nginx.
    pub fn check(&self) -> anyhow::Result<()> {
        // `carve follow` checks it beside each proxy; nginx does not read a share file.
        if matches!(self.at, At::Cluster(_)) || self.is_of_sessions() {
            return Ok(());
        }
        let mut command = Command::new("nginx");
        command.args(["-t", "-q", "-e", "stderr", "-p"]).arg(&self.dir);
        command.arg("-c").arg(self.dir.join("nginx.conf"));
        // Ctrl-C must reach only ramp, which then undoes the change.
        let output = command.process_group(0).output().context("nginx")?;
        let message = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "nginx: {}", message.trim());
        Ok(())
    }

    /// Whether the route is one of sessions: its homes choose the side, and nginx is not reloaded.
    pub fn is_of_sessions(&self) -> bool {
        split::is_of_sessions(&self.route_dir())
    }

    /// The route's file, as it was prepared.
    ///
    /// # Errors
    /// If it was not.
    pub(crate) fn route_file(&self) -> anyhow::Result<Route> {
        let file = self.route_dir().join(ROUTE_FILE);
        Route::parse(&self.route, &files::read(&file)?).with_context(|| file.display().to_string())
    }

    /// Asks which split of the route nginx serves, or its homes use, over a new connection.
    ///
    /// # Errors
    /// If it does not answer, answers something else, or the cluster's proxies differ.
    pub fn served(&self) -> anyhow::Result<Split> {
        match &self.at {
            _ if self.is_of_sessions() => split::used_by(&self.route_file()?.file.homes),
            At::Here(admin) => split::served(*admin, &self.route),
            At::Cluster(cluster) => cluster.served(&self.route),
        }
    }

    /// Describes the process that changes the route now: who holds its lock, or on a cluster its run.
    ///
    /// # Errors
    /// If the cluster does not answer.
    pub fn holder(&self) -> anyhow::Result<Option<String>> {
        match &self.at {
            At::Here(_) => Ok(lock::holder(&self.route_dir())),
            At::Cluster(cluster) => cluster.holder(&self.route),
        }
    }

    /// The split that is wanted; on a cluster, nginx may not serve it yet.
    pub(crate) fn wanted(&self) -> anyhow::Result<Split> {
        if let At::Cluster(cluster) = &self.at
            && let Some(split) = cluster.fetch(&self.route)?
        {
            return Ok(split);
        }
        split::current(&self.route_dir())
    }

    /// Keeps the state of a run that has no process, or soon has none.
    pub(crate) fn keep(&self, state: &State) -> anyhow::Result<()> {
        state.save(&self.route_dir())?;
        match &self.at {
            At::Here(_) => Ok(()),
            At::Cluster(cluster) => cluster.let_go(&self.route, state),
        }
    }

    /// Checks that nginx runs and answers.
    ///
    /// # Errors
    /// If it does not.
    pub(crate) fn find(&self) -> anyhow::Result<()> {
        if let At::Here(_) = self.at {
            self.master()?;
        }
        self.served().map(drop)
    }

    /// How long to wait until nginx serves a change, and the time between two questions meanwhile.
    pub(crate) fn patience(&self) -> (Duration, Duration) {
        match self.at {
            At::Here(_) => (RELOAD_TIMEOUT, Duration::from_millis(20)),
            At::Cluster(_) => (CLUSTER_TIMEOUT, Duration::from_millis(250)),
        }
    }

    fn master(&self) -> anyhow::Result<Pid> {
        let text = fs::read_to_string(self.dir.join("nginx.pid")).unwrap_or_default();
        let pid = text.trim().parse().ok().and_then(Pid::from_raw);
        // A pid file outlives a killed master, and another process may have the number by now.
        let pid = pid.filter(|pid| title(pid.as_raw_pid()).contains("nginx"));
        pid.with_context(|| format!("no nginx runs from {}", self.dir.display()))
    }

    /// Makes nginx read its configuration again; for a cluster, publishes the route's split. Homes read a share
    /// file by themselves.
    pub(crate) fn reload(&self) -> anyhow::Result<Reloading> {
        if let At::Cluster(cluster) = &self.at {
            let (dir, route) = (self.route_dir(), &self.route);
            cluster.publish(route, &split::current(&dir)?, State::load(&dir)?.as_ref())?;
            // `carve follow` waits for the old workers beside each proxy.
            return Ok(Reloading { old_workers: Vec::new() });
        }
        if self.is_of_sessions() {
            return Ok(Reloading { old_workers: Vec::new() });
        }
        let master = self.master()?;
        let old_workers = workers(master.as_raw_pid()).context(
            "nginx' workers cannot be seen in /proc, so nobody could tell when a reload is over",
        )?;
        kill_process(master, Signal::HUP).context("the reload signal to nginx failed")?;
        Ok(Reloading { old_workers })
    }
}

/// The route that somebody named, or else the only one of this nginx. Routes of sessions must be named if
/// there are others: who has added one still means the route that was there.
///
/// # Errors
/// If there is no such route, or there are several to choose from.
pub fn choose_here(nginx_dir: &Path, named: Option<&str>) -> anyhow::Result<String> {
    let known = |name: String| {
        let sessions = split::is_of_sessions(&route_dir(nginx_dir, &name));
        Known { name, sessions }
    };
    choose(prepared(nginx_dir).into_iter().map(known).collect(), named)
}

/// The same among these routes.
///
/// # Errors
/// As above.
pub fn choose(mut routes: Vec<Known>, named: Option<&str>) -> anyhow::Result<String> {
    if named.is_none() && routes.iter().filter(|route| !route.sessions).count() == 1 {
        routes.retain(|route| !route.sessions);
    }
    let routes: Vec<String> = routes.into_iter().map(|route| route.name).collect();
    let all = routes.join(", ");
    match named {
        Some(name) if routes.iter().any(|route| route == name) => Ok(name.to_owned()),
        Some(name) => bail!("there is no route {name:?}; the routes are {all}"),
        None => match <[String; 1]>::try_from(routes) {
            Ok([only]) => Ok(only),
            Err(routes) if routes.is_empty() => bail!("nginx has no routes yet"),
            Err(_) => bail!("which route? ROUTE is one of {all}"),
        },
    }
}

impl Reloading {
    /// Whether all workers from before the reload have stopped accepting connections.
    pub(crate) fn is_over(&self) -> bool {
        self.old_workers.iter().all(|&worker| is_leaving(worker))
    }
}

/// The master's children, but for what the image starts beside it (`proxy/start.sh`), which no reload ends.
fn workers(master: i32) -> anyhow::Result<Vec<i32>> {
    let children = Process::new(master)?.task_main_thread()?.children()?;
    let children = children.into_iter().map(u32::cast_signed);
    Ok(children.filter(|&child| title(child).starts_with("nginx")).collect())
}

/// A worker that only finishes its requests says so in its title.
fn is_leaving(worker: i32) -> bool {
    let title = title(worker);
    title.is_empty() || title.contains("shutting down")
}

/// The process title; empty if the process is gone.
fn title(pid: i32) -> String {
    Process::new(pid).and_then(|process| process.cmdline()).unwrap_or_default().join(" ")
}
