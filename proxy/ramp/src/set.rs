//! Changes the split by hand: `ramp set`.

use std::sync::atomic::AtomicBool;

use crate::change::{change, take};
use crate::log::{Decision, record};
use crate::metrics;
use crate::nginx::Nginx;
use crate::split::{Split, Wanted};
use crate::state::{Phase, State};

/// The result of a change by hand.
#[derive(Debug)]
pub struct Changed {
    /// The split that nginx serves now.
    pub split: Split,
    /// The unfinished run that the change ended.
    pub superseded: Option<State>,
}

/// Changes the split of a running nginx and returns once nginx serves it.
///
/// # Errors
/// If somebody else holds the lock, nginx rejects the split or does not serve it, or `interrupted` is
/// set. The split is unchanged then.
pub fn set(nginx: &Nginx, wanted: &Wanted, interrupted: &AtomicBool) -> anyhow::Result<Changed> {
    let lock = take(&nginx.route_dir())?;
    let split = change(nginx, &lock, wanted, interrupted)?;
    let reason = format!("{}, {}% mirrored", split.key, split.mirror_percent);
    let share_percent = split.share_percent;
    let decision = Decision {
        event: "set",
        run: None,
        step: None,
        share_percent,
        reason: &reason,
        gates: &[],
    };
    record(&nginx.route_dir(), &decision)?;
    let mut superseded = None;
    if wanted.share.is_some()
        && let Some(mut state) = State::load(&nginx.route_dir())?
    {
        if state.phase.is_unfinished() {
            superseded = Some(state.clone());
            state.phase = Phase::Superseded;
            state.reason = format!("{share_percent}% was set by hand");
        }
        state.is_past = true;
        state.save(&nginx.route_dir())?;
    }
    metrics::write(&nginx.dir)?;
    Ok(Changed { split, superseded })
}
