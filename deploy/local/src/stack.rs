//! A whole stack in passing.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, bail};
use ramp::{Key, Share, Wanted};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::settings::{Addresses, Part, Settings, beside, repository};
use crate::supervisor::Supervisor;
use crate::{preflight, readiness, render};

/// How long parts get to be ready; generous, since tests share their machine.
pub const READY_TIMEOUT: Duration = Duration::from_secs(60);

/// What a stack in passing may differ in.
#[derive(Clone, Debug)]
pub struct Options {
    /// The Rust service's share of /qrcode.
    pub split: Share,
    /// What keys of the split are made from.
    pub split_key: Key,
    /// How many of all requests the shadow gets. None unless asked for: each costs both
    /// implementations a picture, which would be among what is counted and measured.
    pub mirror: Share,
    /// `QR_ENGINE` of the Rust service.
    pub engine: Option<String>,
    /// Processes of the legacy app.
    pub old_workers: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            split: Share::ALL,
            split_key: Key::Text,
            mirror: Share::NONE,
            engine: None,
            old_workers: 1,
        }
    }
}

/// The stack on free ports of 127.0.0.1, in a temporary folder. All of it ends with this value, or
/// with this process, however that ends.
#[derive(Debug)]
pub struct Stack {
    settings: Settings,
    supervisor: Supervisor,
    keeper: Option<JoinHandle<()>>,
    _folder: TempDir,
}

impl Stack {
    /// Starts every part and waits until all are ready. `qr_service` is the Rust service's binary;
    /// the shadow's is beside it.
    ///
    /// # Errors
    /// What is missing or wrong, or the end of the log of the part that didn't start.
    pub fn start(qr_service: &Path, options: &Options) -> anyhow::Result<Self> {
        // Where root starts nginx, its workers are somebody else, and read ramp's figures there.
        let folder = tempfile::Builder::new()
            .prefix("qr-stack-")
            .permissions(Permissions::from_mode(0o755))
            .tempdir()
            .context("no temporary folder")?;
        let settings = Settings {
            root: repository().to_owned(),
            run_dir: folder.path().to_owned(),
            addresses: Addresses::free()?,
            split: Some(options.split),
            split_key: Some(options.split_key.clone()),
            mirror: Some(options.mirror),
            engine: options.engine.clone(),
            old_workers: options.old_workers,
            qr_service: qr_service.to_owned(),
            shadow: beside(qr_service, "shadow"),
        };
        preflight::check_tools(&settings)?;
        render::render(&settings)?;
        settings.nginx().check()?;
        let supervisor = Supervisor::new(render::supervisord_conf(&settings));
        let log = settings.run_dir.join("log/supervisord.out");
        let keeper = Some(supervisor.start_bound(&log)?);
        let stack = Stack { settings, supervisor, keeper, _folder: folder };
        readiness::wait(&stack.settings, &stack.supervisor, &Part::ALL, READY_TIMEOUT)?;
        Ok(stack)
    }

    /// Where everything is.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The proxy's public URL, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.settings.addresses.proxy)
    }

    /// What `stack with` tells its command.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let at = &self.settings.addresses;
        vec![
            ("STACK_URL", self.url()),
            ("STACK_ADMIN_URL", format!("http://{}", at.proxy_admin)),
            ("STACK_NEW_URL", format!("http://{}", at.new)),
            ("STACK_NEW_ADMIN_URL", format!("http://{}", at.new_admin)),
            ("STACK_OLD_URL", format!("http://{}", at.old)),
            ("STACK_OLD_ADMIN_URL", format!("http://{}", at.old_admin)),
            ("RAMP_PROMETHEUS_URL", format!("http://{}/prometheus", at.prometheus)),
            ("RAMP_NGINX_DIR", self.settings.nginx_dir().display().to_string()),
            ("STACK_PROXY_ADMIN_ADDR", at.proxy_admin.to_string()),
            ("STACK_DIR", self.settings.run_dir.display().to_string()),
        ]
    }

    /// Moves traffic; the new share is in force on return.
    ///
    /// # Errors
    /// What nginx says.
    pub fn set_split(&self, share: Share) -> anyhow::Result<()> {
        let wanted = Wanted::share(share);
        ramp::set(&self.settings.nginx(), &wanted, &AtomicBool::new(false)).map(drop)
    }

    /// Stops a part for good; it has ended on return.
    ///
    /// # Errors
    /// What supervisord says.
    pub fn stop_part(&self, part: Part) -> anyhow::Result<()> {
        self.supervisor.stop_part(part)
    }

    /// Starts a stopped part; it is ready on return.
    ///
    /// # Errors
    /// What supervisord says, or the end of the part's log.
    pub fn start_part(&self, part: Part) -> anyhow::Result<()> {
        self.supervisor.start_part(part)?;
        self.wait_until_ready(part)
    }

    /// Waits for a part that starts.
    ///
    /// # Errors
    /// The end of its log, where it isn't ready in time.
    pub fn wait_until_ready(&self, part: Part) -> anyhow::Result<()> {
        readiness::wait(&self.settings, &self.supervisor, &[part], READY_TIMEOUT)
    }

    /// Sends a part a signal; one that ends it has supervisord start it again.
    ///
    /// # Errors
    /// Where the part doesn't run.
    pub fn signal_part(&self, part: Part, signal: Signal) -> anyhow::Result<()> {
        let pid = self.pid_of(part)?;
        kill_process(pid, signal).with_context(|| format!("{} {signal:?}", part.name()))
    }

    /// A part's process id.
    ///
    /// # Errors
    /// Where the part doesn't run.
    pub fn pid_of(&self, part: Part) -> anyhow::Result<Pid> {
        let pid = self.supervisor.pid_of(part)?.and_then(|pid| Pid::from_raw(pid.cast_signed()));
        match pid {
            Some(pid) => Ok(pid),
            None => bail!("{} is not running", part.name()),
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        if let Err(error) = self.supervisor.shutdown() {
            eprintln!("stack: {error:#}");
        }
        if let Some(keeper) = self.keeper.take() {
            // The thread only waits for supervisord, and has no way to panic.
            let _ = keeper.join();
        }
    }
}
