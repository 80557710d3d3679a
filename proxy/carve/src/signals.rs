//! The signals that end a command.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;

/// Whether a signal has asked this process to end, and its number.
pub(crate) struct Signals {
    pub(crate) received: Arc<AtomicBool>,
    number: Arc<AtomicUsize>,
}

impl Signals {
    pub(crate) fn watch() -> anyhow::Result<Self> {
        let signals = Signals { received: Arc::default(), number: Arc::default() };
        // nginx' image stops its containers with SIGQUIT, and a container's first process ignores signals that it does
        // not handle.
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
            flag::register_usize(
                signal,
                Arc::clone(&signals.number),
                signal.unsigned_abs() as usize,
            )?;
            flag::register(signal, Arc::clone(&signals.received))?;
        }
        Ok(signals)
    }

    /// 128 plus the signal's number; `None` if no signal has arrived.
    pub(crate) fn exit_code(&self) -> Option<ExitCode> {
        let number = u8::try_from(self.number.load(Ordering::Relaxed)).ok()?;
        (number > 0).then(|| ExitCode::from(128 + number))
    }
}
