//! Stops a route, and ends that: `carve rollback` and `carve clear`.

use std::fs;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use route::Share;

use crate::change::{change, is_at};
use crate::lock::Lock;
use crate::log::{Decision, record};
use crate::nginx::{At, Nginx};
use crate::split::{self, Wanted, current};
use crate::stop_file::{Stop, is_here, kept_file, put};
use crate::{files, metrics};

/// nginx looks at the file with each request, so this is generous.
const IN_FORCE_WITHIN: Duration = Duration::from_secs(5);
/// A follower asks the cluster twice a second; a pod that is new may take longer.
const IN_FORCE_IN_CLUSTER: Duration = Duration::from_secs(60);
/// Answers in a row that say so, each over a new connection: any worker may take it.
const ANSWERS: usize = 8;
/// How long a stop waits for the disk that keeps it over a restart.
const KEPT_WITHIN: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(10);

/// The stop that is in force; `None` if there is none.
///
/// # Errors
/// If the cluster does not answer.
pub fn in_force(nginx: &Nginx) -> anyhow::Result<Option<Stop>> {
    match &nginx.at {
        At::Here(_) if !is_here(&nginx.dir, &nginx.route) => Ok(None),
        At::Here(_) => {
            let kept = fs::read_to_string(kept_file(&nginx.route_dir())).unwrap_or_default();
            Ok(Some(Stop::read(&kept)))
        }
        At::Cluster(cluster) => cluster.stop(&nginx.route),
    }
}

/// Refuses what must not happen while a route is stopped.
///
/// # Errors
/// If it is stopped; says since when and why.
pub(crate) fn refuse(nginx: &Nginx) -> anyhow::Result<()> {
    if let Some(stop) = in_force(nginx)? {
        bail!("{} is {}; `carve clear {0} --reason WHY` ends that", nginx.route, stop.said());
    }
    Ok(())
}

/// Stops a route: returns once every nginx sends each new request of it to the old side, which takes
/// milliseconds here, and about a second on a cluster. Gives a warning if the stop is in force, but will
/// not outlast a restart.
///
/// # Errors
/// If nginx does not say that the route is stopped.
pub fn stop(nginx: &Nginx, reason: &str) -> anyhow::Result<Option<String>> {
    let stop = Stop::now(reason);
    match &nginx.at {
        At::Here(admin) => {
            put(&nginx.dir, &nginx.route, true)?;
            let served = || split::is_stopped(*admin, &nginx.route);
            wait(IN_FORCE_WITHIN, ANSWERS, served)
                .context("the file that stops it is there, but")?;
            Ok(keep_over_restart(nginx, stop))
        }
        At::Cluster(cluster) => {
            cluster.publish_stop(&nginx.route, Some(&stop))?;
            let served = || cluster.is_stopped(&nginx.route);
            wait(IN_FORCE_IN_CLUSTER, 2, served).context("the ConfigMap says stop, but")?;
            Ok(None)
        }
    }
}

fn wait(
    patience: Duration,
    answers: usize,
    is_stopped: impl Fn() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let deadline = Instant::now() + patience;
    let mut in_a_row = 0;
    while in_a_row < answers {
        let answer = is_stopped();
        if answer.as_ref().is_ok_and(|stopped| *stopped) {
            in_a_row += 1;
            continue;
        }
        in_a_row = 0;
        if Instant::now() > deadline {
            answer?;
            bail!("nginx does not stop the route");
        }
        thread::sleep(POLL);
    }
    Ok(())
}

/// Keeps a stop over a restart, and logs it. A disk that hangs must not hold up a stop, so a thread of its
/// own writes, and is left behind where it takes too long.
fn keep_over_restart(nginx: &Nginx, stop: Stop) -> Option<String> {
    let nginx = nginx.clone();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let dir = nginx.route_dir();
        let kept = files::replace(&kept_file(&dir), &stop.text());
        let _ = sender.send(kept.map_err(|error| format!("{error:#}")));
        let share_percent = current(&dir).map_or(Share::NONE, |split| split.share_percent);
        let reason = &stop.reason;
        let decision =
            Decision { event: "stopped", run: None, step: None, share_percent, reason, gates: &[] };
        let _ = record(&dir, &decision).and_then(|()| metrics::write(&nginx.dir));
        let _ = sender.send(Ok(()));
    });
    let problem = match receiver.recv_timeout(KEPT_WITHIN) {
        Ok(Ok(())) => {
            let _ = receiver.recv_timeout(KEPT_WITHIN);
            return None;
        }
        Ok(Err(problem)) => problem,
        Err(_) => "the disk does not answer".to_owned(),
    };
    Some(format!("the stop is in force, but a restart of the machine would end it: {problem}"))
}

/// Ends a stop. The share becomes 0 first, so that this moves no request.
///
/// # Errors
/// If the route is not stopped, or the share cannot be set.
pub fn clear(nginx: &Nginx, lock: &Lock, reason: &str) -> anyhow::Result<Stop> {
    ensure!(!reason.trim().is_empty(), "--reason: say why the route may be split again");
    let stop = in_force(nginx)?.with_context(|| format!("{} is not stopped", nginx.route))?;
    lift(nginx, lock, reason)?;
    Ok(stop)
}

/// Does what [`clear`] does, whether the route is stopped or not.
pub(crate) fn lift(nginx: &Nginx, lock: &Lock, reason: &str) -> anyhow::Result<()> {
    let dir = nginx.route_dir();
    if !is_at(nginx, Share::NONE)? {
        let uninterrupted = std::sync::atomic::AtomicBool::new(false);
        change(nginx, lock, &Wanted::share(Share::NONE), &uninterrupted)?;
    }
    match &nginx.at {
        At::Here(_) => {
            let kept = kept_file(&dir);
            if kept.exists() {
                fs::remove_file(&kept).with_context(|| kept.display().to_string())?;
            }
            put(&nginx.dir, &nginx.route, false)?;
        }
        At::Cluster(cluster) => cluster.publish_stop(&nginx.route, None)?,
    }
    let decision = Decision {
        event: "cleared",
        run: None,
        step: None,
        share_percent: Share::NONE,
        reason,
        gates: &[],
    };
    record(&dir, &decision)?;
    metrics::write(&nginx.dir)
}
