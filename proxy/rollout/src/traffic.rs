//! Moves the traffic of a route: through one nginx, all proxies of a cluster, or the homes of sessions.

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
/// How often nginx must confirm a stop in a row, each time over a new connection, since any of its workers may answer.
const ANSWERS: usize = 8;

/// Moves the traffic of one route.
pub(crate) trait Traffic: fmt::Debug + Send + Sync {
    /// Checks that the servers which move the traffic run and answer.
    fn find(&self) -> anyhow::Result<()> {
        self.served().map(drop)
    }
    /// Waits for the right to reload, which all routes of an nginx share. `None` if no reload is needed here.
    fn turn(&self) -> anyhow::Result<Option<Lock>> {
        Ok(None)
    }
    /// Checks the files before a reload.
    fn check(&self) -> anyhow::Result<()> {
        Ok(())
    }
    /// Reloads the files, if the servers do not reread them by themselves.
    fn reload(&self) -> anyhow::Result<Reloading> {
        Ok(Reloading { old_workers: Vec::new() })
    }
    /// The split that is in force everywhere, asked over new connections.
    fn served(&self) -> anyhow::Result<Split>;
    /// Whether the route is stopped everywhere.
    fn is_stopped(&self) -> anyhow::Result<bool>;
    /// All routes.
    fn routes(&self) -> anyhow::Result<Vec<Known>>;
    /// How long to wait until a change is in force, and the pause between two checks.
    fn patience(&self) -> (Duration, Duration);
}

/// A reload in progress, with the process ids of the workers from before it.
pub(crate) struct Reloading {
    pub(crate) old_workers: Vec<i32>,
}

impl Reloading {
    /// Whether all workers from before the reload have stopped accepting connections. The title of a worker that only
    /// finishes its requests contains "shutting down".
    pub(crate) fn is_over(&self) -> bool {
        let is_leaving = |title: String| title.is_empty() || title.contains("shutting down");
        self.old_workers.iter().all(|&worker| is_leaving(title(worker)))
    }
}

/// The title of a process; empty if the process is gone.
pub fn title(pid: i32) -> String {
    Process::new(pid).and_then(|process| process.cmdline()).unwrap_or_default().join(" ")
}

/// The homes of a route of sessions, which choose the side and reread the share file by themselves.
#[derive(Debug)]
pub(crate) struct Homes {
    pub(crate) route_dir: PathBuf,
    /// The nginx, or the proxies, in front of the homes.
    pub(crate) nginx: Arc<dyn Traffic>,
}

impl Traffic for Homes {
    /// Leaves out homes that do not run: they choose no side, and read the file when they start.
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

/// Asks the running homes of a route at their admin listeners for the split that they use. Fails if none runs, one does
/// not answer, or they differ.
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

/// The split that all servers have; `None` if there are no servers. `all` has each server's split and address. Fails
/// with the first error, or if the splits differ.
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

/// The body of an nginx' answer at its admin listener, over a new connection.
pub(crate) fn ask(admin: SocketAddr, path: &str) -> anyhow::Result<String> {
    http::body("nginx", &format!("http://{admin}{path}"), ADMIN_TIMEOUT)
}

/// The split of a route that an nginx serves.
pub(crate) fn served(admin: SocketAddr, route: &str) -> anyhow::Result<Split> {
    let body = ask(admin, &format!("/split/{route}"))?;
    Split::from_json(&body).with_context(|| format!("{admin} answers {body:?}, which is no split"))
}

/// Whether all workers of an nginx have stopped a route.
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
