//! Keeps one nginx, or the homes of sessions, at the cluster's split: `carve follow`. nginx' container has no token, so
//! there it reads a copy of the ConfigMap that another container keeps: `carve copy`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anstream::eprintln;
use anyhow::Context;

use crate::change;
use crate::cluster::{Cluster, Said};
use crate::folder::{self, prepared, route_dir};
use crate::metrics;
use crate::nginx::{At, Nginx};
use crate::pulse;
use crate::split::{self, Split};
use crate::stop_file;
use crate::watch::{Hearing, watch_by};

/// How often a signal is looked for.
const LOOK: Duration = Duration::from_millis(100);
/// The time between two looks for stops.
const STOPS: Duration = Duration::from_millis(400);
/// How long to wait before a refused split is tried again: nginx may have been without DNS for a moment. Each time
/// twice as long, up to half a minute.
const RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(30);

/// Applies the cluster's splits to the nginx whose prefix is `dir` whenever they change, until
/// `interrupted`. It reports each problem on stderr once and tries again.
///
/// # Errors
/// If the folder cannot be written.
pub fn follow(
    dir: &Path,
    admin: SocketAddr,
    cluster: &Cluster,
    every: Duration,
    interrupted: &AtomicBool,
) -> anyhow::Result<()> {
    let nginx = |route: String| Nginx { dir: dir.to_owned(), route, at: At::Here(admin) };
    let of_sessions = |route: &String| split::is_of_sessions(&route_dir(dir, route));
    let beside_homes = !prepared(dir).is_empty() && prepared(dir).iter().all(of_sessions);
    // The pod starts nginx and this process at the same time, and nginx' container prepares the routes. Homes'
    // routes are prepared before this process starts.
    while !beside_homes && split::routes(admin).is_err() && !interrupted.load(Ordering::Relaxed) {
        thread::sleep(LOOK);
    }
    if interrupted.load(Ordering::Relaxed) {
        return Ok(());
    }
    let mut followers = Vec::new();
    for route in prepared(dir) {
        let nginx = nginx(route);
        change::take(&nginx)?; // undoes what a killed change left behind
        followers.push(Follower { nginx, cluster, refused: None, reported: String::new() });
    }
    metrics::write(dir)?;
    thread::scope(|scope| {
        // Apart from the splits, whose reloads take seconds.
        scope.spawn(|| hear(dir, cluster, None, interrupted));
        follow_splits(&mut followers, every, interrupted);
    });
    Ok(())
}

/// Keeps a copy of the cluster's ConfigMap in a file, for a [`follow`] beside it that has no token, and watches the
/// runs, until `interrupted`. The routes are prepared in `dir`, a folder of its own.
///
/// # Errors
/// If the folder cannot be written.
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

/// Follows the stops, and watches the runs.
fn hear(dir: &Path, cluster: &Cluster, copy: Option<&Path>, interrupted: &AtomicBool) {
    let nginx = |route: &str| {
        let (dir, route) = (dir.to_owned(), route.to_owned());
        Nginx { dir, route, at: At::Cluster(cluster.clone()) }
    };
    let hearing = &Hearing::default();
    thread::scope(|scope| {
        scope.spawn(|| watch_by(dir, nginx, hearing, interrupted));
        follow_stops(dir, cluster, copy, hearing, interrupted);
    });
}

/// Makes and removes the files that stop routes, as the cluster says. While it does not answer, they stay.
fn follow_stops(
    dir: &Path,
    cluster: &Cluster,
    copy: Option<&Path>,
    hearing: &Hearing,
    interrupted: &AtomicBool,
) {
    let routes = &prepared(dir);
    let mut reported = String::new();
    let mut heard: BTreeMap<String, String> = BTreeMap::new();
    while !interrupted.load(Ordering::Relaxed) {
        let said = cluster.said(routes, copy);
        if said.is_err() {
            hearing.fails();
        }
        let outcome = said.and_then(|said| {
            // Every stop comes before any run, whose text may be no run.
            for Said { route, stop, .. } in &said {
                if stop_file::is_here(dir, route) != stop.is_some() {
                    stop_file::put(dir, route, stop.is_some())?;
                    let now = stop.as_ref().map_or("no longer stopped".to_owned(), |stop| {
                        format!("stopped: {}", stop.reason)
                    });
                    eprintln!("{route} is {now}.");
                    metrics::write(dir)?;
                }
            }
            for Said { route, run, .. } in said {
                if let Some(told) = run.filter(|told| heard.get(route) != Some(told)) {
                    pulse::hear(&route_dir(dir, route), &serde_json::from_str(&told)?)?;
                    heard.insert(route.to_owned(), told);
                }
            }
            Ok(())
        });
        let problem = outcome.err().map_or(String::new(), |error| format!("{error:#}"));
        if !problem.is_empty() && problem != reported {
            eprintln!("carve: stops: {problem}");
        }
        reported = problem;
        thread::sleep(STOPS);
    }
}

fn follow_splits(followers: &mut [Follower<'_>], every: Duration, interrupted: &AtomicBool) {
    while !interrupted.load(Ordering::Relaxed) {
        for follower in &mut *followers {
            follower.look(interrupted);
        }
        let next = Instant::now() + every;
        while Instant::now() < next && !interrupted.load(Ordering::Relaxed) {
            thread::sleep(LOOK);
        }
    }
}

struct Refused {
    split: Split,
    at: Instant,
    wait: Duration,
}

struct Follower<'a> {
    nginx: Nginx,
    cluster: &'a Cluster,
    refused: Option<Refused>,
    reported: String,
}

impl Follower<'_> {
    fn look(&mut self, interrupted: &AtomicBool) {
        let outcome = self.cluster.fetch(&self.nginx.route).and_then(|wanted| match wanted {
            Some(wanted) => self.apply(&wanted, interrupted),
            None => Ok(()),
        });
        match outcome {
            Ok(()) => self.reported.clear(),
            Err(problem) => self.report(format!("{}: {problem:#}", self.nginx.route)),
        }
    }

    fn apply(&mut self, wanted: &Split, interrupted: &AtomicBool) -> anyhow::Result<()> {
        if self.nginx.is_of_sessions() {
            // Homes in this pod read the file; beside nginx it is there for the metrics.
            return self.write_share(wanted);
        }
        if self.nginx.served()? == *wanted {
            return Ok(());
        }
        let refused = self.refused.as_ref().filter(|it| it.split == *wanted);
        if refused.is_some_and(|it| it.at.elapsed() < it.wait) {
            return Ok(());
        }
        let wait = refused.map_or(RETRY, |it| MAX_RETRY.min(2 * it.wait));
        let lock = change::take(&self.nginx)?;
        match change::adopt(&self.nginx, &lock, wanted, interrupted) {
            Ok(()) => {
                eprintln!(
                    "{}% of {} goes to the new side.",
                    wanted.share_percent, self.nginx.route
                );
                self.refused = None;
                Ok(())
            }
            Err(problem) => {
                self.refused = Some(Refused { split: wanted.clone(), at: Instant::now(), wait });
                Err(problem).context("the cluster's split is not applied")
            }
        }
    }

    fn write_share(&self, wanted: &Split) -> anyhow::Result<()> {
        if split::current(&self.nginx.route_dir())? == *wanted {
            return Ok(());
        }
        folder::write(&self.nginx.dir, &self.nginx.route, wanted)?;
        eprintln!("{}% of {} goes to the new side.", wanted.share_percent, self.nginx.route);
        metrics::write(&self.nginx.dir)
    }

    fn report(&mut self, problem: String) {
        if problem != self.reported {
            eprintln!("carve: {problem}");
            self.reported = problem;
        }
    }
}
