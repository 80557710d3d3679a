//! Changes the split by hand: `carve split`.
//!
//! Going back to the old side must always work, so `carve split 0` stops the route first. If another process holds the
//! lock, the stop stays in force.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::ensure;

use crate::change::{change, take};
use crate::lock::Lock;
use crate::log::{Decision, record};
use crate::nginx::Nginx;
use crate::split::{Split, SplitChange, current};
use crate::state::{By, Phase, State};
use crate::stop;
use crate::{history, metrics};
use route::Share;

/// A run checks at least every second whether its route is stopped.
const RUN_ENDS_WITHIN: Duration = Duration::from_secs(5);

/// The result of a change by hand.
#[derive(Debug)]
pub struct Changed {
    /// The split that nginx serves now.
    pub split: Split,
    /// The unfinished run that the change ended.
    pub superseded: Option<State>,
    /// Why the route is stopped instead of split: who holds the lock, or why nginx cannot reload.
    pub stopped: Option<String>,
}

/// Changes the split of a running nginx and returns once nginx serves it. Fails, and changes nothing, if the route is
/// stopped, another process holds the lock, nginx rejects the split or does not serve it, or `interrupted` is set. A
/// share of 0 does not fail for these reasons: the route is then stopped, and `stopped` has the reason.
pub fn set(
    nginx: &Nginx,
    wanted: &SplitChange,
    interrupted: &AtomicBool,
) -> anyhow::Result<Changed> {
    ensure!(
        !nginx.is_of_sessions() || (wanted.key.is_none() && wanted.mirror.is_none()),
        "{} has judge = \"session\", so it has neither a key nor a mirror",
        nginx.route
    );
    if wanted.share != Some(Share::NONE) {
        if wanted.share.is_some() {
            stop::refuse(nginx)?;
        }
        return changed(nginx, &take(nginx)?, wanted, interrupted);
    }
    let was_stopped = stop::in_force(nginx).is_ok_and(|stop| stop.is_some());
    stop::stop(nginx, "0% was set by hand")?;
    let outcome = after_run(nginx).and_then(|lock| {
        let changed = changed(nginx, &lock, wanted, interrupted)?;
        if !was_stopped {
            stop::lift(nginx, &lock, "the share is 0%")?;
        }
        Ok(changed)
    });
    outcome.or_else(|problem| {
        let (split, stopped) = (current(&nginx.route_dir())?, Some(format!("{problem:#}")));
        Ok(Changed { split, superseded: None, stopped })
    })
}

/// Takes the lock. Retries for a few seconds, in which a run sees that its route is stopped and releases the lock.
fn after_run(nginx: &Nginx) -> anyhow::Result<Lock> {
    let deadline = Instant::now() + RUN_ENDS_WITHIN;
    loop {
        match take(nginx) {
            Err(_) if Instant::now() < deadline => {}
            outcome => return outcome,
        }
    }
}

fn changed(
    nginx: &Nginx,
    lock: &Lock,
    wanted: &SplitChange,
    interrupted: &AtomicBool,
) -> anyhow::Result<Changed> {
    let split = change(nginx, lock, wanted, interrupted)?;
    let By { actor, reason } = &nginx.by;
    let why = if reason.is_empty() { String::new() } else { format!("; {reason}") };
    let reason = format!("{}, {}% mirrored{why}", split.key, split.mirror_percent);
    let share_percent = split.share_percent;
    record(&nginx.route_dir(), &Decision::by_hand("set", share_percent, actor, &reason))?;
    let mut superseded = None;
    if wanted.share.is_some()
        && let Some(mut state) = State::load(&nginx.route_dir())?
    {
        if state.phase.is_unfinished() {
            superseded = Some(state.clone());
            state.phase = Phase::Superseded;
            state.asked = nginx.by.clone();
            state.reason = format!("{share_percent}% was set by hand");
        }
        state.is_past = true;
        nginx.keep(&state)?;
        if superseded.is_some() {
            history::leave(nginx, &state, share_percent, None);
        }
    }
    metrics::write(&nginx.dir)?;
    Ok(Changed { split, superseded, stopped: None })
}
