//! A command beside a stack of its own.

use std::ffi::OsString;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use stack::{Key, Options, Share, Stack};

/// What `stack with` takes.
#[derive(Args, Debug)]
pub(super) struct With {
    /// The Rust service's share of /qrcode, in percent
    #[arg(long, default_value_t = Share::ALL, value_name = "PERCENT")]
    split: Share,
    /// What it is a share of: arg_text, remote_addr, request_id or cookie_NAME
    #[arg(long, default_value_t, value_name = "KEY")]
    split_key: Key,
    /// How many of all requests the shadow gets, in percent
    #[arg(long, default_value = "10", value_name = "PERCENT")]
    mirror: Share,
    /// Engine of the Rust service [default: by QR_ENGINE]
    #[arg(long, value_name = "NAME")]
    engine: Option<String>,
    /// Processes of old-node
    #[arg(long, default_value_t = 1, value_name = "COUNT")]
    workers: usize,
    #[command(flatten)]
    binary: super::Binary,
    /// The command. It finds STACK_URL, STACK_ADMIN_URL, STACK_NEW_URL, STACK_NEW_ADMIN_URL,
    /// STACK_OLD_URL, STACK_OLD_ADMIN_URL, RAMP_PROMETHEUS_URL, RAMP_NGINX_DIR, STACK_PROXY_ADMIN_ADDR and
    /// STACK_DIR in its environment
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl With {
    /// Gives the command's own exit code, or 128 and the signal's number, as shells do.
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        // Asked for while the stack starts, it ends as soon as it has started.
        let told_to_end = Arc::new(AtomicBool::new(false));
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&told_to_end))?;
        }
        let options = Options {
            split: self.split,
            split_key: self.split_key,
            mirror: self.mirror,
            engine: self.engine,
            old_workers: self.workers,
        };
        let stack = Stack::start(&self.binary.path()?, &options)?;
        let (program, args) = self.command.split_first().context("no command")?;
        let child = Command::new(program).args(args).envs(stack.environment()).spawn();
        let child = child.with_context(|| program.to_string_lossy().into_owned())?;
        Ok(ExitCode::from(exit_code(wait(child, &told_to_end)?)))
    }
}

/// Waits for the command, and passes on that it should end.
fn wait(mut child: Child, told_to_end: &AtomicBool) -> anyhow::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if told_to_end.swap(false, Ordering::Relaxed)
            && let Some(pid) = Pid::from_raw(child.id().cast_signed())
        {
            // Gone already is as good.
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
