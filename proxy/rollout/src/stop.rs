//! Stops a route and lifts a stop: `carve rollback` and `carve clear`.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use route::Share;

use crate::change::bring_to;
use crate::lock::Lock;
use crate::log::{Decision, record};
use crate::nginx::Nginx;
use crate::split::current;
use crate::stop_file::{Stop, kept_file};
use crate::{files, metrics};

/// How long a stop waits until the disk has stored it for a restart.
const KEPT_WITHIN: Duration = Duration::from_secs(2);

/// The stop that is in force; `None` if there is none.
pub fn in_force(nginx: &Nginx) -> anyhow::Result<Option<Stop>> {
    nginx.store.stop()
}

/// Fails if the route is stopped. The error says since when, and why.
pub(crate) fn refuse(nginx: &Nginx) -> anyhow::Result<()> {
    if let Some(stop) = in_force(nginx)? {
        bail!("{} is {}; `carve clear {0} --reason WHY` ends the stop", nginx.route, stop.said());
    }
    Ok(())
}

/// Stops a route until [`release`]. A rollback does this first, since it takes effect at once: it needs no lock, no
/// disk space, no check and no reload, unlike the rest of the rollback.
pub(crate) fn brake(nginx: &Nginx, why: &str) -> anyhow::Result<()> {
    nginx.store.put_stop(&Stop { is_brake: true, ..Stop::now(&nginx.by.actor, why) })
}

/// Ends a [`brake`]. Leaves a stop by hand in force.
pub(crate) fn release(nginx: &Nginx) -> anyhow::Result<()> {
    nginx.store.lift_stop(true)
}

/// Stops a route. Returns once every nginx sends each new request of it to the old side, which takes milliseconds on
/// one machine and about a second on a cluster. Returns a warning if the stop is in force but would not survive a
/// restart. Fails if there is no such route, or nginx does not report the stop in time.
pub fn stop(nginx: &Nginx, reason: &str) -> anyhow::Result<Option<String>> {
    let stop = Stop::now(&nginx.by.actor, reason);
    nginx.store.put_stop(&stop)?;
    // Checks only now whether the route exists, so that the stop did not wait for an answer of the proxies.
    if nginx.traffic.routes().is_ok_and(|all| all.iter().all(|known| known.name != nginx.route)) {
        nginx.store.lift_stop(false)?;
        bail!("there is no route {:?}", nginx.route);
    }
    let unknown = "the stop is recorded, but it is not known to be in force";
    nginx.traffic.stop().context(unknown)?;
    nginx.tell("rollback", None, Share::NONE, reason);
    // A cluster keeps a stop over a restart by itself.
    let is_kept = nginx.store.claim().is_some();
    Ok(if is_kept { None } else { keep_over_restart(nginx, stop) })
}

/// Stores a stop for a restart, and logs it. Returns a warning if it cannot be stored in time. A hung disk must not
/// delay a stop, so another thread writes, and is left behind if it takes too long.
fn keep_over_restart(nginx: &Nginx, stop: Stop) -> Option<String> {
    let nginx = nginx.clone();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let dir = nginx.route_dir();
        let kept = files::replace(&kept_file(&dir), &stop.text());
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

/// Ends a stop and returns it. Sets the share to 0 first, so that no request moves to the new side. Fails if the reason
/// is empty, the route is not stopped, or the share cannot be set.
pub fn clear(nginx: &Nginx, lock: &Lock, reason: &str) -> anyhow::Result<Stop> {
    ensure!(!reason.trim().is_empty(), "--reason: say why the route may be split again");
    let stop = in_force(nginx)?.with_context(|| format!("{} is not stopped", nginx.route))?;
    lift(nginx, lock, reason)?;
    Ok(stop)
}

/// As [`clear`], but does not fail if the route is not stopped.
pub(crate) fn lift(nginx: &Nginx, lock: &Lock, reason: &str) -> anyhow::Result<()> {
    let dir = nginx.route_dir();
    bring_to(nginx, lock, Share::NONE)?;
    nginx.store.lift_stop(false)?;
    record(&dir, &Decision::by_hand("cleared", Share::NONE, &nginx.by.actor, reason))?;
    metrics::write(&nginx.dir)
}
