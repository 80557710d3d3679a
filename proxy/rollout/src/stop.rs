//! Stops a route, and ends that: `carve rollback` and `carve clear`.

use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use route::Share;

use crate::change::bring_to;
use crate::lock::Lock;
use crate::log::{Decision, record};
use crate::nginx::Nginx;
use crate::split::current;
use crate::stop_file::Stop;
use crate::{files, metrics};

/// How long a stop waits for the disk that keeps it over a restart.
const KEPT_WITHIN: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(10);

/// The stop that is in force; `None` if there is none.
pub fn in_force(nginx: &Nginx) -> anyhow::Result<Option<Stop>> {
    nginx.store.stop()
}

/// Refuses what must not happen while a route is stopped. The error says since when and why.
pub(crate) fn refuse(nginx: &Nginx) -> anyhow::Result<()> {
    if let Some(stop) = in_force(nginx)? {
        bail!("{} is {}; `carve clear {0} --reason WHY` ends that", nginx.route, stop.said());
    }
    Ok(())
}

/// Stops a route until [`release`]. A way back does this before anything else, since nothing that the rest of it waits
/// for holds this up: no lock, no room on a disk, no check and no reload.
pub(crate) fn brake(nginx: &Nginx, why: &str) -> anyhow::Result<()> {
    nginx.store.put_stop(&Stop { is_brake: true, ..Stop::now(&nginx.by.actor, why) })
}

/// Ends what [`brake`] began, and no stop.
pub(crate) fn release(nginx: &Nginx) -> anyhow::Result<()> {
    nginx.store.lift_stop(true)
}

/// Stops a route: returns once every nginx sends each new request of it to the old side, which takes milliseconds
/// here, and about a second on a cluster. Gives a warning if the stop is in force, but will not outlast a restart.
/// Fails if nginx does not say that the route is stopped.
pub fn stop(nginx: &Nginx, reason: &str) -> anyhow::Result<Option<String>> {
    let stop = Stop::now(&nginx.by.actor, reason);
    nginx.store.put_stop(&stop)?;
    // Nobody may have asked before whether there is such a route: a stop waits for no proxy.
    if nginx.traffic.routes().is_ok_and(|all| all.iter().all(|known| known.name != nginx.route)) {
        nginx.store.lift_stop(false)?;
        bail!("there is no route {:?}", nginx.route);
    }
    let deadline = Instant::now() + nginx.traffic.patience().0;
    while !nginx.traffic.is_stopped().or_else(|problem| match Instant::now() < deadline {
        true => Ok(false),
        false => Err(problem.context("the stop is written down, but")),
    })? {
        ensure!(Instant::now() < deadline, "nginx does not stop the route");
        thread::sleep(POLL);
    }
    nginx.tell("rollback", None, Share::NONE, reason);
    Ok(nginx.store.kept_stop().and_then(|file| keep_over_restart(nginx, file, stop)))
}

/// Keeps a stop over a restart, and logs it. A disk that hangs must not hold up a stop, so a thread of its
/// own writes, and is left behind where it takes too long.
fn keep_over_restart(nginx: &Nginx, file: PathBuf, stop: Stop) -> Option<String> {
    let nginx = nginx.clone();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let dir = nginx.route_dir();
        let kept = files::replace(&file, &stop.text());
        let _ = sender.send(kept.map_err(|error| format!("{error:#}")));
        let share_percent = current(&dir).map_or(Share::NONE, |split| split.share_percent);
        let decision = Decision::by_hand("stopped", share_percent, &stop.actor, &stop.reason);
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

/// Ends a stop. The share becomes 0 first, so that this moves no request. Fails if the route is not stopped, or the
/// share cannot be set.
pub fn clear(nginx: &Nginx, lock: &Lock, reason: &str) -> anyhow::Result<Stop> {
    ensure!(!reason.trim().is_empty(), "--reason: say why the route may be split again");
    let stop = in_force(nginx)?.with_context(|| format!("{} is not stopped", nginx.route))?;
    lift(nginx, lock, reason)?;
    Ok(stop)
}

/// Does what [`clear`] does, whether the route is stopped or not.
pub(crate) fn lift(nginx: &Nginx, lock: &Lock, reason: &str) -> anyhow::Result<()> {
    let dir = nginx.route_dir();
    bring_to(nginx, lock, Share::NONE)?;
    nginx.store.lift_stop(false)?;
    record(&dir, &Decision::by_hand("cleared", Share::NONE, &nginx.by.actor, reason))?;
    metrics::write(&nginx.dir)
}
