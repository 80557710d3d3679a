//! `carve follow` applies the splits of a cluster, or of another machine, to one nginx or to the homes of sessions.
//! nginx' container has no token, so there it reads a copy of the ConfigMap that `carve copy` keeps in another
//! container.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anstream::eprintln;
use anyhow::Context;
use serde_json::Value;

use crate::cluster::{Cluster, Entries, OnCluster};
use crate::folder::{self, prepared, route_dir};
use crate::log::Problem;
use crate::metrics::{self, LastWrite};
use crate::nginx::Nginx;
use crate::split::{self, Split};
use crate::state::{Phase, State};
use crate::stop_file::{self, Stop};
use crate::store::Store;
use crate::watch::{WATCH, Watcher};
use crate::{change, files, pulse, traffic};

/// How often to check for a signal.
const LOOK: Duration = Duration::from_millis(100);
/// How long to wait before a refused split is tried again, since nginx may have been without DNS for a moment. The wait
/// doubles each time, up to half a minute.
const RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(30);

/// Applies the cluster's splits to the nginx whose prefix is `dir` whenever they change, until `interrupted` is set.
/// Reports each problem on stderr once, and tries again.
pub fn follow(
    dir: &Path,
    admin: SocketAddr,
    cluster: &Cluster,
    interrupted: &AtomicBool,
) -> anyhow::Result<()> {
    let of_sessions = |route: &String| split::is_of_sessions(&route_dir(dir, route));
    let beside_homes = !prepared(dir).is_empty() && prepared(dir).iter().all(of_sessions);
    // The pod starts nginx and this process at the same time, and nginx' container prepares the routes, so wait for
    // nginx. The routes of homes are prepared before this process starts.
    while !beside_homes && traffic::routes(admin).is_err() && !interrupted.load(Ordering::Relaxed) {
        thread::sleep(LOOK);
    }
    if interrupted.load(Ordering::Relaxed) {
        return Ok(());
    }
    let mut followers = Vec::new();
    for route in prepared(dir) {
        let store = cluster.store(dir, &route);
        let nginx = Nginx::here(dir.to_owned(), route, admin);
        change::take(&nginx)?; // undoes what a killed change left behind
        let problem = Problem::default();
        followers.push(Follower { nginx, store, refused: None, problem });
    }
    metrics::write(dir)?;
    thread::scope(|scope| {
        // On a thread of its own: stops must not wait for reloads, which take seconds.
        scope.spawn(|| hear(dir, cluster, None, interrupted));
        cluster.watch(interrupted, |object| {
            if let Some(object) = object {
                followers.iter_mut().for_each(|follower| follower.look(object, interrupted));
            }
            Ok(true)
        });
    });
    Ok(())
}

/// Keeps a copy of the cluster's ConfigMap in a file, for a [`follow`] without a token, and watches the runs, until
/// `interrupted` is set. `dir` is a folder of its own with the prepared routes.
pub fn copy(
    dir: &Path,
    file: &Path,
    cluster: &Cluster,
    interrupted: &AtomicBool,
) -> anyhow::Result<()> {
    metrics::write(dir)?;
    hear(dir, cluster, Some(file), interrupted);
    Ok(())
}

/// Applies the cluster's stops here, and records the heartbeats of its runs. While the cluster does not answer, the
/// stops stay as they are.
fn hear(dir: &Path, cluster: &Cluster, copy: Option<&Path>, interrupted: &AtomicBool) {
    let routes = prepared(dir);
    let mut heard: BTreeMap<&str, String> = BTreeMap::new();
    // The routes that this machine has stopped by itself, until a heartbeat of their runs arrives.
    let mut lost: BTreeSet<String> = BTreeSet::new();
    let (mut watcher, mut written) = (Watcher::default(), LastWrite::default());
    cluster.watch(interrupted, |object| {
        let mut has_changed = false;
        if let Some(object) = object {
            if let Some(file) = copy {
                files::replace(file, &object.to_string())?;
            }
            // All stops are applied before any run is parsed, since parsing may fail.
            for route in &routes {
                let said = Entries::of(route, object);
                let is_heard = said.life().as_ref() != heard.get(&**route);
                if said.stop.is_some() || is_heard {
                    lost.remove(route);
                }
                if !lost.contains(route) {
                    has_changed |= follow_stop(dir, route, object)?;
                }
            }
            for route in &routes {
                let said = Entries::of(route, object);
                let life = said.life().filter(|life| heard.get(&**route) != Some(life));
                if let (Some(life), Some(run)) = (life, said.run) {
                    pulse::hear(&route_dir(dir, route), &serde_json::from_str(run)?)?;
                    heard.insert(route, life);
                }
            }
        }
        // If this process reads a copy, the process that keeps the copy watches the runs.
        if !cluster.is_copy() {
            watcher.look(dir, |route, why| {
                if cluster.is_of_a_machine() {
                    stop_file::put(dir, route, true)?;
                    eprintln!("{route} is stopped here: {why}.");
                    lost.insert(route.to_owned());
                    return Ok(());
                }
                let (store, why) = (cluster.store(dir, route), why.to_owned());
                // On a thread of its own: it may wait for the API, and stops must not.
                thread::spawn(move || stop_lost(&store, &why));
                Ok(())
            });
        }
        written.write(dir, has_changed)?;
        Ok(true)
    });
}

/// Creates or removes a route's stop file, as the cluster's object says. Returns whether that changed anything.
pub(crate) fn follow_stop(dir: &Path, route: &str, object: &Value) -> anyhow::Result<bool> {
    let stop = Entries::of(route, object).stop;
    if !stop_file::follow(dir, route, stop.as_ref())? {
        return Ok(false);
    }
    match stop {
        Some(stop) if stop.is_brake => eprintln!("{route} goes back: {}.", stop.reason),
        Some(stop) => eprintln!("{route} is stopped: {}.", stop.reason),
        None => eprintln!("{route} is no longer stopped."),
    }
    Ok(true)
}

/// Stops a route whose run is silent. Asks the cluster first whether a process holds the run, since this watcher may
/// have missed heartbeats. The watchers of several proxies may do this at once; the result is the same.
fn stop_lost(store: &OnCluster, why: &str) {
    let mut problem = Problem::default();
    let stop = || {
        if store.holder()?.is_some() {
            return Ok(());
        }
        let told = store.told()?.filter(|told| told.state.phase.is_unfinished());
        let Some(told) = told else { return Ok(()) };
        store.put_stop(&Stop::now(WATCH, why))?;
        store.overrule(&State { phase: Phase::Lost, reason: why.to_owned(), ..told.state })?;
        eprintln!("carve: {}: {why}; it is stopped", store.route);
        Ok(())
    };
    while let Err(error) = stop() {
        problem.report(Err(error));
        thread::sleep(RETRY);
    }
}

struct Follower {
    nginx: Nginx,
    store: Arc<OnCluster>,
    /// The split that was refused, when, and how long to wait before it is tried again.
    refused: Option<(Split, Instant, Duration)>,
    problem: Problem,
}

impl Follower {
    fn look(&mut self, object: &Value, interrupted: &AtomicBool) {
        let wanted = Entries::of(&self.nginx.route, object).split;
        let wanted = wanted.map(|text| self.store.parse(text)).transpose();
        let outcome = wanted.and_then(|wanted| match wanted {
            Some(wanted) => self.apply(&wanted, interrupted),
            None => Ok(()),
        });
        self.problem.report(outcome.with_context(|| self.nginx.route.clone()));
    }

    fn apply(&mut self, wanted: &Split, interrupted: &AtomicBool) -> anyhow::Result<()> {
        if self.nginx.is_of_sessions() {
            // In a pod of homes, the homes read this file. Beside nginx, only the metrics need it.
            if folder::rewrite(&self.nginx.dir, &self.nginx.route, wanted)? {
                self.say(wanted);
                metrics::write(&self.nginx.dir)?;
            }
            return Ok(());
        }
        if self.nginx.served()? == *wanted {
            return Ok(());
        }
        let refused = self.refused.as_ref().filter(|(split, ..)| split == wanted);
        if refused.is_some_and(|(_, at, wait)| at.elapsed() < *wait) {
            return Ok(());
        }
        let wait = refused.map_or(RETRY, |(.., wait)| MAX_RETRY.min(2 * *wait));
        let lock = change::take(&self.nginx)?;
        match change::adopt(&self.nginx, &lock, wanted, interrupted) {
            Ok(()) => {
                self.say(wanted);
                self.refused = None;
                Ok(())
            }
            Err(problem) => {
                self.refused = Some((wanted.clone(), Instant::now(), wait));
                Err(problem).context("the cluster's split is not applied")
            }
        }
    }

    fn say(&self, wanted: &Split) {
        eprintln!("{}% of {} goes to the new side.", wanted.share_percent, self.nginx.route);
    }
}
