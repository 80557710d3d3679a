//! Moves the traffic of a route: through one nginx, all proxies of a cluster, or the homes of sessions.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use procfs::process::Process;
use route::Route;

use crate::folder::route_file;
use crate::http;
use crate::split::{ServedRoute, Split};

const ADMIN_TIMEOUT: Duration = Duration::from_secs(2);
const STOP_POLL: Duration = Duration::from_millis(10);
/// How often nginx must confirm a stop in a row, each time over a new connection, since any of its workers may answer.
const ANSWERS: usize = 8;

/// Moves the traffic of one route. [`change`](crate::change) writes the wanted split to the route's folder before it
/// calls [`apply`](Traffic::apply), and puts the old one back if that fails.
pub(crate) trait Traffic: fmt::Debug + Send + Sync {
    /// Checks that the servers which move the traffic run and answer.
    fn find(&self) -> anyhow::Result<()> {
        self.served().map(drop)
    }
    /// Runs a change of the folder's files, alone where all routes are loaded together.
    fn alone(&self, work: &mut dyn FnMut() -> anyhow::Result<()>) -> anyhow::Result<()> {
        work()
    }
    /// Puts the folder's split into force and returns once it is served everywhere. Sets `reached` once a server may
    /// have read it. Fails if it is refused, not served in time, or `interrupted` is set.
    fn apply(
        &self,
        split: &Split,
        interrupted: &AtomicBool,
        reached: &mut bool,
    ) -> anyhow::Result<()>;
    /// Puts the split from before a failed change, which the folder has again, into force.
    fn put_back(&self, old: &Split) -> anyhow::Result<()> {
        self.apply(old, &AtomicBool::new(false), &mut true)
    }
    /// The split that is in force everywhere, asked over new connections.
    fn served(&self) -> anyhow::Result<Split>;
    /// Returns once the stop that the store has is in force everywhere.
    fn stop(&self) -> anyhow::Result<()>;
    /// All routes.
    fn routes(&self) -> anyhow::Result<Vec<ServedRoute>>;
}

/// How long to wait until a change is in force, and the pause between two checks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    pub(crate) total: Duration,
    pub(crate) pause: Duration,
}

impl Patience {
    /// Waits until `is_done`, which gets the time so far, is true. Fails with `late` if that takes too long, or `interrupted` is set.
    pub(crate) fn wait(
        self,
        interrupted: &AtomicBool,
        late: impl FnOnce(Duration) -> String,
        mut is_done: impl FnMut(Duration) -> bool,
    ) -> anyhow::Result<()> {
        let since = Instant::now();
        while !is_done(since.elapsed()) {
            ensure!(!interrupted.load(Ordering::Relaxed), "interrupted");
            ensure!(since.elapsed() < self.total, late(self.total));
            thread::sleep(self.pause);
        }
        Ok(())
    }

    /// Waits until `traffic` serves the split everywhere.
    pub(crate) fn wait_for_split(
        self,
        traffic: &dyn Traffic,
        split: &Split,
        interrupted: &AtomicBool,
        late: impl FnOnce(Duration) -> String,
    ) -> anyhow::Result<()> {
        let is_served = |_| traffic.served().is_ok_and(|served| served == *split);
        self.wait(interrupted, late, is_served)
    }

    /// Waits until a stop is in force. Fails if that takes too long; an error of `is_stopped` counts only then.
    pub(crate) fn wait_for_stop(
        self,
        mut is_stopped: impl FnMut() -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        let mut last = Ok(false);
        let often = Patience { pause: STOP_POLL, ..self };
        let late = |total| format!("the new side may still get requests after {total:?}");
        let waited = often.wait(&AtomicBool::new(false), late, |_| {
            last = is_stopped();
            matches!(last, Ok(true))
        });
        last.and(waited)
    }
}

/// What a change says that `who` does not serve in time.
pub(crate) fn late(who: &str) -> impl FnOnce(Duration) -> String {
    move |total| {
        format!("{who} does not serve the new split after {total:?}; its log shows the reason")
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
    pub(crate) front: Arc<dyn Traffic>,
    pub(crate) patience: Patience,
}

impl Traffic for Homes {
    fn apply(
        &self,
        split: &Split,
        interrupted: &AtomicBool,
        reached: &mut bool,
    ) -> anyhow::Result<()> {
        *reached = true;
        self.patience.wait_for_split(self, split, interrupted, late("a home"))
    }

    /// Leaves out homes that do not run: they choose no side, and read the file when they start.
    fn served(&self) -> anyhow::Result<Split> {
        used_by(&route_file(&self.route_dir)?)
    }

    fn stop(&self) -> anyhow::Result<()> {
        self.front.stop()
    }

    fn routes(&self) -> anyhow::Result<Vec<ServedRoute>> {
        self.front.routes()
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
pub(crate) fn routes(admin: SocketAddr) -> anyhow::Result<Vec<ServedRoute>> {
    let body = ask(admin, "/routes.json")?;
    serde_json::from_str(&body).with_context(|| format!("{admin} answers {body:?}"))
}
