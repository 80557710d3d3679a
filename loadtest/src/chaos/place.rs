//! The stack that faults are played on; its qr-service can be replaced, as by a release.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use ramp::{Share, Split};
use rustix::process::{Pid, Signal, kill_process};
use stack::{Options, Part, Stack, http};
use tempfile::TempDir;

/// How long and how often faults are played.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Requests per second.
    pub rate: f64,
    /// The new side's share before and after each fault.
    pub share: Share,
    /// Changes of the split, each with a reload.
    pub splits: usize,
    /// How often each part is restarted.
    pub restarts: usize,
    /// How long a part is stopped.
    pub stopped: Duration,
    /// The steps of the healthy ramp, in percent.
    pub steps: &'static str,
    /// Whether the steps are too short for the standard proofs.
    pub has_short_steps: bool,
    /// How long each step of the ramp is held.
    pub hold: Duration,
    /// Folder of the programs: qr-service, its example with faults, shadow and ramp.
    pub programs: PathBuf,
}

/// The route that is played with.
pub(super) const ROUTE: &str = "qrcode";

const RECOVERS_WITHIN: Duration = Duration::from_secs(40);
/// supervisord counts a part that ends within 1 s of its start as one that does not start.
const COUNTS_AS_STARTED: Duration = Duration::from_millis(1500);

/// A stack, and what faults need of it.
pub struct Place {
    pub(super) stack: Stack,
    pub(super) plan: Plan,
    release: Release,
}

impl Place {
    pub(super) fn start(plan: &Plan) -> anyhow::Result<Self> {
        let release = Release::new(&plan.programs)?;
        let options = Options {
            split: plan.share,
            // With little traffic, mirror more, or ramp waits for comparisons.
            mirror: Share::percent(50)?,
            ..Options::default()
        };
        let stack = Stack::start(&release.program(), &options)?;
        Ok(Place { stack, plan: plan.clone(), release })
    }

    pub(super) fn split(&self) -> anyhow::Result<Split> {
        self.stack.settings().nginx(ROUTE).served()
    }

    /// Ends a part by a signal. supervisord has restarted it, and it is ready, on return.
    pub(super) fn end_and_wait(&self, part: Part, signal: Signal) -> anyhow::Result<()> {
        let before = self.stack.pid_of(part)?;
        kill_process(before, signal).with_context(|| part.name())?;
        let deadline = Instant::now() + RECOVERS_WITHIN;
        // Until the old process has ended, it is the one that answers that it is ready.
        while self.stack.pid_of(part).is_ok_and(|now| now == before) {
            ensure!(Instant::now() < deadline, "{} does not end", part.name());
            std::thread::sleep(Duration::from_millis(50));
        }
        self.stack.wait_until_ready(part)?;
        std::thread::sleep(COUNTS_AS_STARTED);
        Ok(())
    }

    /// nginx' workers.
    pub(super) fn workers(&self) -> anyhow::Result<Vec<Pid>> {
        let master = self.stack.pid_of(Part::Nginx)?.as_raw_nonzero();
        let children = fs::read_to_string(format!("/proc/{master}/task/{master}/children"))?;
        let pid = |text: &str| text.parse().ok().and_then(Pid::from_raw);
        // Another child copies the log.
        let is_nginx = |child: &&str| {
            fs::read_to_string(format!("/proc/{child}/comm"))
                .is_ok_and(|name| name.trim() == "nginx")
        };
        Ok(children.split_whitespace().filter(is_nginx).filter_map(pid).collect())
    }

    /// Deploys qr-service, with or without faults.
    pub(super) fn deploy(&self, with_faults: bool) -> anyhow::Result<()> {
        self.release.install(with_faults)?;
        self.end_and_wait(Part::QrService, Signal::TERM)
    }

    /// The `ramp` program, for this stack.
    pub(super) fn ramp(&self) -> Command {
        let mut command = Command::new(self.plan.programs.join("ramp"));
        command.envs(self.stack.environment());
        command
    }

    pub(super) fn wait_until_both_serve(&self) -> anyhow::Result<()> {
        let client = http::client(Duration::from_secs(5));
        let url = format!("{}/qrcode?text=ready", self.stack.url());
        let serves = |arm: &str, name: &str| {
            let answer = http::get(&client, &url, &[("X-Route-Arm", arm)]);
            answer.is_ok_and(|answer| answer.status == 200 && answer.served_by() == name)
        };
        let deadline = Instant::now() + RECOVERS_WITHIN;
        while !(serves("new", "qr-service") && serves("old", "legacy-node")) {
            ensure!(Instant::now() < deadline, "not both sides serve after {RECOVERS_WITHIN:?}");
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

/// The program that supervisord starts as qr-service: a script that starts the real one or, after a
/// bad release, the one with faults.
struct Release {
    folder: TempDir,
    programs: PathBuf,
}

impl Release {
    fn new(programs: &Path) -> anyhow::Result<Self> {
        let release = Release { folder: tempfile::tempdir()?, programs: programs.to_owned() };
        release.install(false)?;
        // The stack looks for these beside qr-service.
        for name in ["shadow", "edge", "ramp"] {
            std::os::unix::fs::symlink(programs.join(name), release.folder.path().join(name))?;
        }
        Ok(release)
    }

    fn program(&self) -> PathBuf {
        self.folder.path().join("qr-service")
    }

    fn install(&self, with_faults: bool) -> anyhow::Result<()> {
        let name = if with_faults { "examples/wrong_pictures" } else { "qr-service" };
        let program = self.programs.join(name);
        ensure!(program.is_file(), "{} is not built (make chaos builds it)", program.display());
        let new = self.folder.path().join("new");
        fs::write(&new, format!("#!/bin/sh\nexec '{}' \"$@\"\n", program.display()))?;
        fs::set_permissions(&new, Permissions::from_mode(0o755))?;
        fs::rename(new, self.program()).context("cannot install a release")
    }
}
