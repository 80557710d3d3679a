//! `carve with`.

use std::ffi::OsString;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use carve::local::{Share, Stack};
use clap::Args;
use rustix::process::{Pid, Signal, kill_process};
use service_kit::arguments::Usage;

use super::up::PartsFile;
use crate::signals::Signals;

#[derive(Args, Debug)]
pub(crate) struct With {
    /// The new side's share of the routes, in percent
    #[arg(long, default_value_t = Share::ALL, value_name = "PERCENT")]
    split: Share,
    /// Share of all requests that nginx mirrors to the shadow, in percent
    #[arg(long, default_value = "10", value_name = "PERCENT")]
    mirror: Share,
    #[command(flatten)]
    parts: PartsFile,
    /// The command; its environment contains STACK_URL, STACK_ADMIN_URL, STACK_NEW_URL,
    /// STACK_NEW_ADMIN_URL, STACK_OLD_URL, STACK_OLD_ADMIN_URL, STACK_DIR, RAMP_NGINX_DIR,
    /// RAMP_PROXY_ADMIN_ADDR and RAMP_PROMETHEUS_URL
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl With {
    /// Returns the command's exit code, or 128 plus the signal's number, as shells do.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        // A signal that arrives while the stack starts takes effect once it has started.
        let signals = Signals::watch()?;
        let parts = self.parts.file.ok_or(Usage("--parts is missing".to_owned()))?;
        let stack = Stack::start(&std::env::current_exe()?, Some(&parts), |it| {
            (it.wanted.share, it.wanted.mirror) = (Some(self.split), Some(self.mirror));
        })?;
        let (program, args) = self.command.split_first().context("no command")?;
        let child = Command::new(program).args(args).envs(stack.environment()).spawn();
        let child = child.with_context(|| program.to_string_lossy().into_owned())?;
        Ok(ExitCode::from(exit_code(wait(child, &signals.received)?)))
    }
}

/// Waits for the command. Once `told_to_end` is set, sends it SIGTERM.
fn wait(mut child: Child, told_to_end: &AtomicBool) -> anyhow::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if told_to_end.swap(false, Ordering::Relaxed)
            && let Some(pid) = Pid::from_raw(child.id().cast_signed())
        {
            // Fails if the command has just ended.
            let _ = kill_process(pid, Signal::TERM);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn exit_code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let signal = status.signal().map(|signal| 128 + signal);
    status.code().or(signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
