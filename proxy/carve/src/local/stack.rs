//! A whole stack for the duration of a test or a measurement.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;

use anstream::eprintln;
use anyhow::{Context, ensure};
use rollout::{Share, SplitChange};
use rustix::process::{Signal, kill_process};
use tempfile::TempDir;

use super::parts::variable;
use super::settings::{Addresses, Settings};
use super::supervisor::Supervisor;
use super::{preflight, readiness, render};

/// A stack on free ports of 127.0.0.1, in a temporary folder. All of it ends when this value is dropped, or when this
/// process ends in any way.
#[derive(Debug)]
pub struct Stack {
    settings: Settings,
    /// The process that starts, restarts and stops the parts.
    pub supervisor: Supervisor,
    keeper: Option<JoinHandle<()>>,
    _folder: TempDir,
}

impl Stack {
    /// Starts every part and waits until all are ready, with `carve`'s binary and the parts of a file of `--parts`.
    /// Unless `change` sets otherwise, the new side serves everything and nothing is mirrored, because the shadow's own
    /// requests to both sides would distort counts and measurements. The error names what is missing, or has the end of
    /// the log of the part that did not start.
    pub fn start(
        carve: &Path,
        apps: Option<&Path>,
        change: impl FnOnce(&mut Settings),
    ) -> anyhow::Result<Self> {
        Self::start_in(&std::env::temp_dir(), carve, apps, change)
    }

    /// As [`Stack::start`], with the temporary folder in `place`.
    pub fn start_in(
        place: &Path,
        carve: &Path,
        apps: Option<&Path>,
        change: impl FnOnce(&mut Settings),
    ) -> anyhow::Result<Self> {
        // If root starts nginx, its workers are another user, who must read ramp's metrics here.
        let folder = tempfile::Builder::new()
            .prefix("qr-stack-")
            .permissions(Permissions::from_mode(0o755))
            .tempdir_in(place)
            .context("no temporary folder")?;
        let (run_dir, addresses) = (folder.path().to_owned(), Addresses::free()?);
        let mut settings = Settings {
            wanted: SplitChange { mirror: Some(Share::NONE), ..SplitChange::share(Share::ALL) },
            ..Settings::new(run_dir, addresses, carve.to_owned())
        };
        if let Some(apps) = apps {
            settings = settings.with_apps(apps, true)?;
        }
        change(&mut settings);
        preflight::check_tools(&settings)?;
        render::render(&settings)?;
        settings.machine().check()?;
        let supervisor = Supervisor::new(settings.run_dir.clone());
        let keeper = Some(supervisor.start_bound(&settings.carve)?);
        let stack = Stack { settings, supervisor, keeper, _folder: folder };
        readiness::wait(&stack.settings, &stack.supervisor, &stack.settings.parts()?)?;
        Ok(stack)
    }

    /// Addresses, folders and programs.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The proxy's public URL, without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.settings.addresses.proxy)
    }

    /// The variables that `carve with` sets for its command.
    pub fn environment(&self) -> Vec<(String, String)> {
        let at = &self.settings.addresses;
        let apps = at.apps.iter();
        let apps = apps.map(|(word, at)| (variable(word) + "_URL", format!("http://{at}")));
        let own = [
            ("STACK_URL", self.url()),
            ("STACK_ADMIN_URL", format!("http://{}", at.proxy_admin)),
            ("RAMP_PROMETHEUS_URL", format!("http://{}/prometheus", at.prometheus)),
            ("RAMP_NGINX_DIR", self.settings.nginx_dir().display().to_string()),
            ("RAMP_PROXY_ADMIN_ADDR", at.proxy_admin.to_string()),
            ("STACK_DIR", self.settings.run_dir.display().to_string()),
        ];
        apps.chain(own.map(|(name, value)| (name.to_owned(), value))).collect()
    }

    /// Sets the new side's share of a route. Returns once nginx serves it; fails if nginx does not.
    pub fn set_split(&self, route: &str, share: Share) -> anyhow::Result<()> {
        let wanted = SplitChange::share(share);
        rollout::set(&self.settings.nginx(route), &wanted, &AtomicBool::new(false)).map(drop)
    }

    /// Writes a copy of the built-in gates for steps of a few seconds, which do not see thousands of requests: the limits
    /// to prove are ten times as large, and the blocks ten times shorter. Returns the file. Fails if it cannot be
    /// written, or the gates no longer contain the values to replace.
    pub fn gates_for_short_steps(&self) -> anyhow::Result<PathBuf> {
        let mut gates = evidence::gates::DEFAULT.to_owned();
        for (long, short) in [
            ("\nproof = 0.005\n", "\nproof = 0.05\n"),
            ("\nproof = 0.02\n", "\nproof = 0.2\n"),
            ("\nblock = \"5s\"\n", "\nblock = \"500ms\"\n"),
        ] {
            ensure!(gates.contains(long), "gates.toml has no{long}");
            gates = gates.replace(long, short);
        }
        let copy = self.settings.run_dir.join("gates.toml");
        fs::write(&copy, gates).context("gates.toml")?;
        Ok(copy)
    }

    /// Starts a stopped part and returns once it is ready. An error has the end of its log.
    pub fn start_part(&self, part: &str) -> anyhow::Result<()> {
        self.supervisor.start_part(part)?;
        self.wait_until_ready(part)
    }

    /// Waits until a starting part is ready. If it is not ready in time, the error has the end of its log.
    pub fn wait_until_ready(&self, part: &str) -> anyhow::Result<()> {
        readiness::wait(&self.settings, &self.supervisor, &[part.to_owned()])
    }

    /// Sends a signal to a part. If the signal ends the part, the supervisor starts it again.
    pub fn signal_part(&self, part: &str, signal: Signal) -> anyhow::Result<()> {
        let pid = self.supervisor.pid_of(part)?;
        kill_process(pid, signal).with_context(|| format!("{part} {signal:?}"))
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        if let Err(error) = self.supervisor.shutdown() {
            eprintln!("carve: {error:#}");
        }
        if let Some(keeper) = self.keeper.take() {
            // The thread only waits for the supervisor and cannot panic.
            let _ = keeper.join();
        }
        if let Some(stops) = self.settings.stops_dir() {
            let _ = fs::remove_dir_all(stops);
        }
    }
}
