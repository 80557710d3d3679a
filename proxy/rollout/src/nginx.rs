//! A route whose split moves, and the nginx of one machine that moves it: check it, reload it, ask what it serves.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use procfs::process::Process;
use route::{Route, Share};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::folder::{self, prepared, route_dir};
use crate::lock::Lock;
use crate::split::{self, Known, Split};
use crate::state::{By, State};
use crate::store::{Files, Store};
use crate::traffic::{self, Homes, Reloading, Traffic, title};
use crate::webhooks::{Event, Webhooks};

/// Generous, as a check takes milliseconds: but it looks names up.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);
const CHECK_POLL: Duration = Duration::from_millis(5);
/// Generous: workers start within milliseconds, but not on a busy machine.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(10);
const RELOAD_POLL: Duration = Duration::from_millis(20);

/// A route, where its state is kept, and what moves its traffic.
#[derive(Clone, Debug)]
pub struct Nginx {
    /// For one nginx, its prefix, with its configuration and `nginx.pid`. For a cluster, a folder for
    /// a copy of the cluster's splits.
    pub dir: PathBuf,
    /// The route.
    pub route: String,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) traffic: Arc<dyn Traffic>,
    /// On whose behalf this acts.
    pub(crate) by: By,
    /// Who is told of it.
    webhooks: Webhooks,
}

impl Nginx {
    /// A route of the nginx on this machine with this prefix, whose admin listener has this address.
    pub fn here(dir: PathBuf, route: String, admin: SocketAddr) -> Self {
        let store = Files { nginx_dir: dir.clone(), route: route.clone() };
        let one = One { dir: dir.clone(), route: route.clone(), admin };
        Nginx::of(dir, route, Arc::new(store), Arc::new(one))
    }

    pub(crate) fn of(
        dir: PathBuf,
        route: String,
        store: Arc<dyn Store>,
        nginx: Arc<dyn Traffic>,
    ) -> Self {
        let route_dir = route_dir(&dir, &route);
        let traffic = match split::is_of_sessions(&route_dir) {
            true => Arc::new(Homes { route_dir, nginx }),
            false => nginx,
        };
        let (by, webhooks) = (By::default(), Webhooks::default());
        Nginx { dir, route, store, traffic, by, webhooks }
    }

    /// Acts on somebody's behalf, and tells others of it.
    #[must_use]
    pub fn acting(self, by: By, webhooks: Webhooks) -> Self {
        Nginx { by, webhooks, ..self }
    }

    /// Who is told of what happens.
    pub fn webhooks(&self) -> &Webhooks {
        &self.webhooks
    }

    /// Tells others what has happened, in a run or by hand; waits for nothing.
    pub(crate) fn tell(
        &self,
        event: &'static str,
        run: Option<&State>,
        share: Share,
        reason: &str,
    ) {
        let actor = run.map_or(&*self.by.actor, State::actor);
        self.webhooks.tell(&Event {
            event,
            route: self.route.clone(),
            run: run.map(|run| run.run.clone()).unwrap_or_default(),
            phase: run.map_or("", |run| run.phase.as_str()),
            share_percent: share,
            actor: actor.to_owned(),
            reason: reason.to_owned(),
        });
    }

    /// The folder of the route's `split.conf` and of ramp's own files about it.
    pub fn route_dir(&self) -> PathBuf {
        route_dir(&self.dir, &self.route)
    }

    /// Checks the files that nginx is to read: `nginx -t`.
    pub fn check(&self) -> anyhow::Result<()> {
        self.traffic.check()
    }

    /// Whether the route is one of sessions: its homes choose the side, and nginx is not reloaded.
    pub fn is_of_sessions(&self) -> bool {
        split::is_of_sessions(&self.route_dir())
    }

    /// The route's file, as it was prepared.
    pub fn route_file(&self) -> anyhow::Result<Route> {
        folder::route_file(&self.route_dir())
    }

    /// Asks which split of the route nginx serves, or its homes use, over a new connection. Fails if it does not
    /// answer, answers something else, or the cluster's proxies differ.
    pub fn served(&self) -> anyhow::Result<Split> {
        self.traffic.served()
    }

    /// Describes the process that changes the route now: who holds its lock, or on a cluster its run.
    pub fn holder(&self) -> anyhow::Result<Option<String>> {
        self.store.holder()
    }

    /// Keeps the state of a run that has no process, or soon has none.
    pub(crate) fn keep(&self, state: &State) -> anyhow::Result<()> {
        state.save(&self.route_dir())?;
        self.store.let_go(state)
    }
}

/// The nginx of this machine, and one of its routes.
#[derive(Debug)]
struct One {
    dir: PathBuf,
    route: String,
    admin: SocketAddr,
}

impl One {
    fn master(&self) -> anyhow::Result<Pid> {
        let text = fs::read_to_string(self.dir.join("nginx.pid")).unwrap_or_default();
        let pid = text.trim().parse().ok().and_then(Pid::from_raw);
        // A pid file outlives a killed master, and another process may have the number by now.
        let pid = pid.filter(|pid| title(pid.as_raw_pid()).contains("nginx"));
        pid.with_context(|| format!("no nginx runs from {}", self.dir.display()))
    }
}

impl Traffic for One {
    fn find(&self) -> anyhow::Result<()> {
        self.master()?;
        self.served().map(drop)
    }

    fn turn(&self) -> anyhow::Result<Option<Lock>> {
        Lock::wait(&self.dir).map(Some)
    }

    fn check(&self) -> anyhow::Result<()> {
        let mut command = Command::new("nginx");
        command.args(["-t", "-q", "-e", "stderr", "-p"]).arg(&self.dir);
        command.arg("-c").arg(self.dir.join("nginx.conf"));
        // Ctrl-C must reach only ramp, which then undoes the change.
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

    fn reload(&self) -> anyhow::Result<Reloading> {
        let master = self.master()?;
        let old_workers = workers(master.as_raw_pid()).context(
            "nginx' workers cannot be seen in /proc, so nobody could tell when a reload is over",
        )?;
        kill_process(master, Signal::HUP).context("the reload signal to nginx failed")?;
        Ok(Reloading { old_workers })
    }

    fn served(&self) -> anyhow::Result<Split> {
        traffic::served(self.admin, &self.route)
    }

    fn is_stopped(&self) -> anyhow::Result<bool> {
        traffic::is_stopped(self.admin, &self.route)
    }

    fn routes(&self) -> anyhow::Result<Vec<Known>> {
        traffic::routes(self.admin)
    }

    fn patience(&self) -> (Duration, Duration) {
        (RELOAD_TIMEOUT, RELOAD_POLL)
    }
}

/// The master's children, but for what the image starts beside it (`proxy/start.sh`), which no reload ends.
fn workers(master: i32) -> anyhow::Result<Vec<i32>> {
    let children = Process::new(master)?.task_main_thread()?.children()?;
    let children = children.into_iter().map(u32::cast_signed);
    Ok(children.filter(|&child| title(child).starts_with("nginx")).collect())
}

/// The route that somebody named, or else the only one of this nginx. Routes of sessions must be named if there are
/// others: who has added one still means the route that was there. Fails if there is no such route, or there are
/// several to choose from.
pub fn choose_here(nginx_dir: &Path, named: Option<&str>) -> anyhow::Result<String> {
    let known = |name: String| {
        let sessions = split::is_of_sessions(&route_dir(nginx_dir, &name));
        Known { name, sessions }
    };
    choose(prepared(nginx_dir).into_iter().map(known).collect(), named)
}

/// The same among these routes.
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
