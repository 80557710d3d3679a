//! How traffic is moved: by one nginx, by all proxies of a cluster, or by the homes of sessions.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use procfs::process::Process;
use route::Route;

use crate::folder::route_file;
use crate::http;
use crate::lock::Lock;
use crate::split::{Known, Split};

const ADMIN_TIMEOUT: Duration = Duration::from_secs(2);
/// Answers in a row that say that a route is stopped, each over a new connection: any worker may take it.
const ANSWERS: usize = 8;

/// What moves the traffic of one route.
pub(crate) trait Traffic: fmt::Debug + Send + Sync {
    /// Checks that what is to move it runs and answers.
    fn find(&self) -> anyhow::Result<()> {
        self.served().map(drop)
    }
    /// The right to make it read its files, which other routes have too.
    fn turn(&self) -> anyhow::Result<Option<Lock>> {
        Ok(None)
    }
    /// Checks the files before they are read.
    fn check(&self) -> anyhow::Result<()> {
        Ok(())
    }
    /// Makes it read its files, if it does not do so by itself.
    fn reload(&self) -> anyhow::Result<Reloading> {
        Ok(Reloading { old_workers: Vec::new() })
    }
    /// The split that is in force everywhere, asked over new connections.
    fn served(&self) -> anyhow::Result<Split>;
    /// Whether the route is stopped everywhere.
    fn is_stopped(&self) -> anyhow::Result<bool>;
    /// The routes that there are.
    fn routes(&self) -> anyhow::Result<Vec<Known>>;
    /// How long to wait until a change is in force, and the time between two questions meanwhile.
    fn patience(&self) -> (Duration, Duration);
}

/// A reload in progress: the workers from before it.
pub(crate) struct Reloading {
    pub(crate) old_workers: Vec<i32>,
}

impl Reloading {
    /// Whether all workers from before the reload have stopped accepting connections. One that only finishes its
    /// requests says so in its title.
    pub(crate) fn is_over(&self) -> bool {
        let is_leaving = |title: String| title.is_empty() || title.contains("shutting down");
        self.old_workers.iter().all(|&worker| is_leaving(title(worker)))
    }
}

/// The process title; empty if the process is gone.
pub(crate) fn title(pid: i32) -> String {
    Process::new(pid).and_then(|process| process.cmdline()).unwrap_or_default().join(" ")
}

/// The homes of a route of sessions. They choose the side, and read the share file by themselves.
#[derive(Debug)]
pub(crate) struct Homes {
    pub(crate) route_dir: PathBuf,
    /// What asks the homes.
    pub(crate) nginx: Arc<dyn Traffic>,
}

impl Traffic for Homes {
    /// A home that does not run decides nothing, and reads the file when it starts.
    fn served(&self) -> anyhow::Result<Split> {
        used_by(&route_file(&self.route_dir)?)
    }

    fn is_stopped(&self) -> anyhow::Result<bool> {
        self.nginx.is_stopped()
    }

    fn routes(&self) -> anyhow::Result<Vec<Known>> {
        self.nginx.routes()
    }

    fn patience(&self) -> (Duration, Duration) {
        self.nginx.patience()
    }
}

/// The split that every home of a route uses, asked at their admin listeners.
pub(crate) fn used_by(route: &Route) -> anyhow::Result<Split> {
    let urls = route.file.homes.iter().map(|home| format!("{}/share", home.admin));
    let answers = urls.map(|url| (http::body("the home", &url, ADMIN_TIMEOUT), url));
    let running = answers.filter(|(answer, _)| !answer.as_ref().is_err_and(http::is_refused));
    agreed(running.map(|(answer, url)| {
        let body = answer?;
        let split = Split::parse(&body).with_context(|| format!("{url}: {body:?} is no split"))?;
        Ok((split, url))
    }))?
    .context("no home of the route runs")
}

/// The split that each of them has, with their addresses; `None` if there are none.
pub(crate) fn agreed(
    all: impl Iterator<Item = anyhow::Result<(Split, String)>>,
) -> anyhow::Result<Option<Split>> {
    let mut agreed: Option<Split> = None;
    for one in all {
        let (split, address) = one?;
        match &agreed {
            Some(other) if *other != split => bail!(
                "they differ: {address} has {}%, another {}%",
                split.share_percent,
                other.share_percent
            ),
            _ => agreed = Some(split),
        }
    }
    Ok(agreed)
}

/// What an nginx answers at its admin listener, over a new connection.
pub(crate) fn ask(admin: SocketAddr, path: &str) -> anyhow::Result<String> {
    http::body("nginx", &format!("http://{admin}{path}"), ADMIN_TIMEOUT)
}

/// The split of a route that an nginx serves.
pub(crate) fn served(admin: SocketAddr, route: &str) -> anyhow::Result<Split> {
    let body = ask(admin, &format!("/split/{route}"))?;
    Split::from_json(&body).with_context(|| format!("{admin} answers {body:?}, which is no split"))
}

/// Whether an nginx has stopped a route.
pub(crate) fn is_stopped(admin: SocketAddr, route: &str) -> anyhow::Result<bool> {
    for _ in 0..ANSWERS {
        if ask(admin, &format!("/stop/{route}"))?.trim() != "stopped" {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The routes of an nginx.
pub(crate) fn routes(admin: SocketAddr) -> anyhow::Result<Vec<Known>> {
    let body = ask(admin, "/routes.json")?;
    serde_json::from_str(&body).with_context(|| format!("{admin} answers {body:?}"))
}
