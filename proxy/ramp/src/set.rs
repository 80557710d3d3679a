//! A share set by hand.

use std::sync::atomic::AtomicBool;

use crate::change::{change, repair};
use crate::run::{Phase, State};
use crate::{Decision, Lock, Nginx, Split, Wanted, record};

/// What a change by hand has led to.
#[derive(Debug)]
pub struct Changed {
    /// What is served now.
    pub split: Split,
    /// The run that can't go on from here.
    pub superseded: Option<State>,
}

/// Takes the lock, puts right what a killed change has left, and says so on stderr.
///
/// # Errors
/// Who holds the lock.
pub fn take(nginx: &Nginx) -> anyhow::Result<Lock> {
    let lock = Lock::take(&nginx.dir)?;
    if let Some(split) = repair(&nginx.dir, &lock)? {
        eprintln!(
            "An earlier change was cut short; split.conf is back at {}%.",
            split.share_percent
        );
    }
    Ok(lock)
}

/// Changes the split of a running nginx; on return it serves it.
///
/// # Errors
/// Who else is at it, what nginx says, or that `interrupted` was set; then the split is as it was.
pub fn set(nginx: &Nginx, wanted: &Wanted, interrupted: &AtomicBool) -> anyhow::Result<Changed> {
    let lock = take(nginx)?;
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
    record(&nginx.dir, &decision)?;
    let mut superseded = None;
    if wanted.share.is_some()
        && let Some(mut state) = State::load_unfinished(&nginx.dir)?
    {
        superseded = Some(state.clone());
        state.end(&nginx.dir, Phase::Superseded, &format!("{share_percent}% was set by hand"))?;
    }
    Ok(Changed { split, superseded })
}
