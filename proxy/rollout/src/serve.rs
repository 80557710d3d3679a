//! Carries out the runs of a cluster: `carve serve`.
//!
//! `carve ramp` starts a run by writing its state to the ConfigMap, and a process that ends leaves its run there too.
//! So `serve` starts new runs and resumes those of a process that gave them up or sends no heartbeats, in the same way.
//! It also keeps copies of every route's split, stop and run, from which it writes metrics.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope};
use std::time::{Duration, Instant, SystemTime};

use anstream::eprintln;
use anyhow::Context;
use serde_json::Value;

use crate::change::take_folder;
use crate::cluster::{Cluster, Entries, OnCluster, SILENT};
use crate::files::hash;
use crate::folder;
use crate::follow::follow_stop;
use crate::guard::guard;
use crate::metrics::LastWrite;
use crate::nginx::Nginx;
use crate::prometheus::Prometheus;
use crate::pulse;
use crate::run::{Surroundings, carry_on, order};
use crate::split::Split;
use crate::state::{By, Heartbeat, Phase, Plan, State};
use crate::webhooks::Webhooks;

/// How soon a run that failed is tried again.
const RETRY: Duration = Duration::from_secs(2);
/// How often the proxies are asked for their routes. Their addresses are kept, so that commands find them without DNS.
const ROUTES: Duration = Duration::from_secs(5);

/// The surroundings that all runs of a cluster share.
#[derive(Debug)]
pub struct Environment<'a> {
    /// The folder of copies.
    pub dir: &'a Path,
    /// The cluster.
    pub cluster: &'a Cluster,
    /// The source of the gates' values.
    pub prometheus: &'a Prometheus,
    /// The time between two judgements.
    pub every: Duration,
    /// Set once a signal asks this process to end.
    pub interrupted: &'a AtomicBool,
    /// The webhooks that hear of the runs.
    pub webhooks: Webhooks,
    /// The folder of the reports; `None` puts them in the routes' folders.
    pub report: Option<PathBuf>,
}

/// Carries out runs until `interrupted` is set. Unfinished runs then stay at their step for the next process. Calls
/// `ready` once the routes are known.
pub fn serve(desk: &Environment<'_>, ready: impl FnOnce()) -> anyhow::Result<()> {
    let me = name();
    let mut walks: Vec<Walk<'_>> = Vec::new();
    let (mut ready, mut learns, mut written) = (Some(ready), Instant::now(), LastWrite::default());
    thread::scope(|scope| {
        let nginx = |route: &str| around(desk, &desk.cluster.store(desk.dir, route));
        scope.spawn(move || guard(desk.dir, desk.prometheus, desk.interrupted, nginx, |_| Ok(())));
        desk.cluster.watch(desk.interrupted, |object| {
            let (mut outcome, mut has_changed) = (Ok(()), false);
            let is_due = Instant::now() >= learns;
            if is_due {
                outcome = learn(desk, &me, &mut walks);
                learns = Instant::now() + if outcome.is_ok() { ROUTES } else { RETRY };
            }
            if !walks.is_empty()
                && let Some(ready) = ready.take()
            {
                ready();
            }
            for walk in &mut walks {
                let Some(object) = object else { break };
                match walk.look(object, is_due, scope) {
                    Ok(changed) => has_changed |= changed,
                    Err(problem) => outcome = Err(problem.context(walk.nginx.route.clone())),
                }
            }
            outcome.and(written.write(desk.dir, has_changed)).map(|()| true)
        });
    });
    Ok(())
}

/// The name under which this process holds runs.
fn name() -> String {
    let place = std::env::var("HOSTNAME").unwrap_or_else(|_| "this machine".to_owned());
    let since = humantime::format_rfc3339_millis(SystemTime::now());
    format!("{place} (process {}, since {since})", std::process::id())
}

/// Adds the proxies' routes that are not known here yet.
fn learn<'a>(desk: &'a Environment<'_>, me: &str, walks: &mut Vec<Walk<'a>>) -> anyhow::Result<()> {
    let mut outcome = Ok(());
    for route in desk.cluster.routes()? {
        if walks.iter().all(|walk| walk.nginx.route != route.name) {
            let store = desk.cluster.store(desk.dir, &route.name);
            // A route that cannot be read must not block the others.
            match store.copy() {
                Ok(()) => walks.push(Walk::new(desk, me, store)),
                Err(problem) => outcome = Err(problem.context(route.name)),
            }
        }
    }
    outcome
}

fn around(desk: &Environment<'_>, store: &Arc<OnCluster>) -> Nginx {
    let by = By::itself("carve serve");
    desk.cluster.around(store).acting(by, desk.webhooks.clone())
}

/// A route, and its run.
#[derive(Clone)]
struct Walk<'a> {
    desk: &'a Environment<'a>,
    me: String,
    store: Arc<OnCluster>,
    nginx: Nginx,
    /// The last sign of life of the run's process, and when it came.
    told: Option<String>,
    since: Instant,
    /// Whether a thread of this process carries out the run.
    is_under_way: Arc<AtomicBool>,
    /// When the thread was last started.
    begun: Option<Instant>,
    /// Whether a thread of this process puts a stop into force.
    is_stopping: Arc<AtomicBool>,
}

impl<'a> Walk<'a> {
    fn new(desk: &'a Environment<'_>, me: &str, store: Arc<OnCluster>) -> Self {
        Walk {
            desk,
            me: me.to_owned(),
            nginx: around(desk, &store),
            store,
            told: None,
            since: Instant::now(),
            is_under_way: Arc::default(),
            begun: None,
            is_stopping: Arc::default(),
        }
    }

    /// Copies the route's stop, split and run from the ConfigMap, and starts the run if no other process holds it.
    /// Returns whether anything has changed here. Looks at the route's file if that `is_due`.
    fn look<'scope>(
        &mut self,
        object: &Value,
        is_due: bool,
        scope: &'scope Scope<'scope, '_>,
    ) -> anyhow::Result<bool>
    where
        'a: 'scope,
    {
        let mut has_changed = follow_stop(&self.nginx.dir, &self.nginx.route, object)?;
        if self.desk.cluster.has_gateways() {
            self.enforce_stop(object, scope);
        }
        // While the run is under way, its own copies are newer.
        if self.is_under_way.load(Ordering::Relaxed) {
            return Ok(has_changed);
        }
        let said = Entries::of(&self.nginx.route, object);
        if let Some(split) = said.split.and_then(Split::parse) {
            has_changed |= folder::rewrite(&self.nginx.dir, &self.nginx.route, &split)?;
        }
        if self.told != said.life() {
            (self.told, self.since) = (said.life(), Instant::now());
            has_changed = true;
        }
        if is_due {
            self.begin_by_file(&said)?;
        }
        let Some(text) = said.run else { return Ok(has_changed) };
        let told: Heartbeat = serde_json::from_str(text).context("the run in the ConfigMap")?;
        let is_mine = told.holder.as_ref() == Some(&self.me);
        if is_mine {
            // It may have ended while the cluster did not answer.
            let here = State::load(&self.nginx.route_dir())?;
            let is_over = |it: &State| it.run == told.state.run && !it.phase.is_unfinished();
            if let Some(state) = here.filter(is_over) {
                self.nginx.keep(&state)?;
                return Ok(true);
            }
        } else if has_changed {
            pulse::hear(&self.nginx.route_dir(), &told)?;
        }
        let is_free = is_mine || told.holder.is_none() || self.since.elapsed() > SILENT;
        let waits = self.begun.is_some_and(|when| when.elapsed() < RETRY);
        let goes_on = told.state.phase.is_unfinished() && told.state.phase != Phase::Inconclusive;
        if is_free && goes_on && !waits {
            self.start(text.to_owned(), is_mine, scope);
        }
        Ok(has_changed)
    }

    /// Keeps a stop in force: somebody may have written it to the ConfigMap, or have been moving the share when it came.
    /// Proxies do this themselves.
    fn enforce_stop<'scope>(&self, object: &Value, scope: &'scope Scope<'scope, '_>)
    where
        'a: 'scope,
    {
        let is_stopped = Entries::of(&self.nginx.route, object).stop.is_some_and(|it| !it.is_brake);
        if is_stopped && !self.is_stopping.swap(true, Ordering::Relaxed) {
            let walk = self.clone();
            scope.spawn(move || {
                if let Err(problem) = walk.nginx.traffic.stop() {
                    eprintln!("carve: {}: {problem:#}", walk.nginx.route);
                }
                walk.is_stopping.store(false, Ordering::Relaxed);
            });
        }
    }

    /// Records a run that the route's file asks for, unless the last run began with this text of the file.
    fn begin_by_file(&self, said: &Entries<'_>) -> anyhow::Result<()> {
        self.store.follow_file()?;
        let route = self.nginx.route_file()?;
        let last = said.told().map(|told| told.state);
        let is_over =
            last.is_none_or(|run| !run.phase.is_unfinished() && run.file != hash(&route.text));
        if route.file.ramp.start && is_over && said.stop.is_none() {
            order(&self.nginx, self.desk.prometheus, Plan::of(&route.file.ramp))?;
        }
        Ok(())
    }

    fn start<'scope>(&mut self, told: String, is_mine: bool, scope: &'scope Scope<'scope, '_>)
    where
        'a: 'scope,
    {
        self.begun = Some(Instant::now());
        self.is_under_way.store(true, Ordering::Relaxed);
        let walk = self.clone();
        scope.spawn(move || {
            if let Err(problem) = walk.carry_out(&told, is_mine) {
                eprintln!("carve: {}: {problem:#}", walk.nginx.route);
            }
            walk.is_under_way.store(false, Ordering::Relaxed);
        });
    }

    fn carry_out(&self, told: &str, is_mine: bool) -> anyhow::Result<()> {
        let Walk { nginx, store, .. } = self;
        let state = store.hold(&self.me, told)?;
        let dir = nginx.route_dir();
        let lock = take_folder(&dir)?;
        store.copy()?;
        // The local state of this process's own run may be newer than the one in the ConfigMap.
        let is_known = State::load(&dir)?.is_some_and(|here| here.run == state.run);
        if !(is_mine && is_known) {
            state.save(&dir)?;
        }
        let Environment { prometheus, every, interrupted, .. } = *self.desk;
        let report = self.desk.report.clone();
        carry_on(&Surroundings { nginx, lock: &lock, prometheus, every, interrupted, report })?;
        Ok(())
    }
}
