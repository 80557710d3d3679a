//! Keeps one nginx at the cluster's split: `ramp follow`.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anstream::eprintln;
use anyhow::Context;

use crate::change;
use crate::cluster::Cluster;
use crate::metrics;
use crate::nginx::{At, Nginx, prepared};
use crate::split::{self, Split};

/// How often a signal is looked for.
const LOOK: Duration = Duration::from_millis(100);
/// How long to wait before the same refused split is tried again.
const RETRY: Duration = Duration::from_secs(30);

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
    // The pod starts nginx and this process at the same time, and nginx' container prepares the routes.
    while split::routes(admin).is_err() && !interrupted.load(Ordering::Relaxed) {
        thread::sleep(LOOK);
    }
    if interrupted.load(Ordering::Relaxed) {
        return Ok(());
    }
    let mut followers = Vec::new();
    for route in prepared(dir) {
        let nginx = nginx(route);
        change::take(&nginx.route_dir())?; // undoes what a killed change left behind
        followers.push(Follower { nginx, cluster, refused: None, reported: String::new() });
    }
    metrics::write(dir)?;
    while !interrupted.load(Ordering::Relaxed) {
        for follower in &mut followers {
            follower.look(interrupted);
        }
        let next = Instant::now() + every;
        while Instant::now() < next && !interrupted.load(Ordering::Relaxed) {
            thread::sleep(LOOK);
        }
    }
    Ok(())
}

struct Follower<'a> {
    nginx: Nginx,
    cluster: &'a Cluster,
    refused: Option<(Split, Instant)>,
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
        if self.nginx.served()? == *wanted {
            return Ok(());
        }
        if let Some((refused, when)) = &self.refused
            && refused == wanted
            && when.elapsed() < RETRY
        {
            return Ok(());
        }
        let lock = change::take(&self.nginx.route_dir())?;
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
                self.refused = Some((wanted.clone(), Instant::now()));
                Err(problem).context("the cluster's split is not applied")
            }
        }
    }

    fn report(&mut self, problem: String) {
        if problem != self.reported {
            eprintln!("ramp: {problem}");
            self.reported = problem;
        }
    }
}
