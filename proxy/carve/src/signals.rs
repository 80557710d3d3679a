//! The signals that end a command.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;

/// Whether a signal has asked this process to end, and which.
pub(crate) struct Signals {
    pub(crate) received: Arc<AtomicBool>,
    number: Arc<AtomicUsize>,
}

impl Signals {
    pub(crate) fn watch() -> anyhow::Result<Self> {
        let signals = Signals { received: Arc::default(), number: Arc::default() };
        // SIGQUIT ends containers of nginx' image. The first process of a container ignores what it does not handle.
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

    /// 128 and the signal's number; `None` without a signal.
    pub(crate) fn exit_code(&self) -> Option<ExitCode> {
        let number = u8::try_from(self.number.load(Ordering::Relaxed)).ok()?;
        (number > 0).then(|| ExitCode::from(128 + number))
    }
}
