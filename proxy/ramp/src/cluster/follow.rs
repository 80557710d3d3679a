//! Keeps one nginx at the cluster's split.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::cluster::Cluster;
use crate::{Nginx, Split, Wanted, change, take};

/// Between two looks for a signal.
const LOOK: Duration = Duration::from_millis(100);
/// A split that this nginx would not take is tried again after that, or when it is another one.
const AGAIN: Duration = Duration::from_secs(30);

/// Puts the cluster's split into force at `nginx` whenever it is another one, until `interrupted`. What
/// goes wrong is said on stderr, once, and tried again.
///
/// # Errors
/// Where the folder can't be written.
pub fn follow(
    nginx: &Nginx,
    cluster: &Cluster,
    every: Duration,
    interrupted: &AtomicBool,
) -> anyhow::Result<()> {
    wait_for_nginx(nginx, interrupted);
    if interrupted.load(Ordering::Relaxed) {
        return Ok(());
    }
    // The figures, from the beginning; and what a killed change has left.
    change::prepare(&nginx.dir, &Wanted::default())?;
    let mut follower = Follower { nginx, cluster, refused: None, said: String::new() };
    while !interrupted.load(Ordering::Relaxed) {
        follower.look(interrupted);
        let next = Instant::now() + every;
        while Instant::now() < next && !interrupted.load(Ordering::Relaxed) {
            thread::sleep(LOOK);
        }
    }
    Ok(())
}

/// Both are started at the same time.
fn wait_for_nginx(nginx: &Nginx, interrupted: &AtomicBool) {
    while nginx.served().is_err() && !interrupted.load(Ordering::Relaxed) {
        thread::sleep(LOOK);
    }
}

struct Follower<'a> {
    nginx: &'a Nginx,
    cluster: &'a Cluster,
    refused: Option<(Split, Instant)>,
    said: String,
}

impl Follower<'_> {
    fn look(&mut self, interrupted: &AtomicBool) {
        let outcome = self.cluster.fetch().and_then(|wanted| match wanted {
            Some(wanted) => self.put_into_force(&wanted, interrupted),
            None => Ok(()),
        });
        match outcome {
            Ok(()) => self.said.clear(),
            Err(problem) => self.say(format!("{problem:#}")),
        }
    }

    fn put_into_force(&mut self, wanted: &Split, interrupted: &AtomicBool) -> anyhow::Result<()> {
        if self.nginx.served()? == *wanted {
            return Ok(());
        }
        if let Some((refused, when)) = &self.refused
            && refused == wanted
            && when.elapsed() < AGAIN
        {
            return Ok(());
        }
        let lock = take(self.nginx)?;
        match change::adopt(self.nginx, &lock, wanted, interrupted) {
            Ok(()) => {
                eprintln!("{}% of {} goes to qr-service.", wanted.share_percent, wanted.key);
                self.refused = None;
                Ok(())
            }
            Err(problem) => {
                self.refused = Some((wanted.clone(), Instant::now()));
                Err(problem).context("the cluster's split is not taken over")
            }
        }
    }

    fn say(&mut self, problem: String) {
        if problem != self.said {
            eprintln!("ramp: {problem}");
            self.said = problem;
        }
    }
}
