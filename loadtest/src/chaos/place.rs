//! Where faults are played: a stack in passing, whose Rust service can be replaced as by a release.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use ramp::{Share, Split};
use rustix::process::{Pid, Signal, kill_process};
use stack::{Options, Part, Stack};
use tempfile::TempDir;

/// How much of everything.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Requests a second.
    pub rate: f64,
    /// Changes of the split, each with a reload.
    pub splits: usize,
    /// How often each part is restarted.
    pub restarts: usize,
    /// How long a part is stopped, and others are away.
    pub stopped: Duration,
    /// The steps of the ramp where nothing is wrong, in percent.
    pub steps: &'static str,
    /// What Rust's p99 may be above Node's: in a short step a single stall of the machine decides.
    pub p99_margin_seconds: f64,
    /// How long each step of the ramp is held.
    pub hold: Duration,
    /// The programs: qr-service, the one with faults, and ramp.
    pub programs: PathBuf,
}

/// The Rust service's share, but for what faults make of it.
pub(super) const SHARE_PERCENT: u16 = 50;

const RECOVERS_WITHIN: Duration = Duration::from_secs(40);
/// A part that ends sooner after its start is one that does not start, to the supervisor (1 s).
const COUNTS_AS_STARTED: Duration = Duration::from_millis(1500);

/// A stack in passing, and what faults need of it.
pub struct Place {
    /// The stack.
    pub stack: Stack,
    /// As told.
    pub plan: Plan,
    release: Release,
}

impl Place {
    pub(super) fn start(plan: &Plan) -> anyhow::Result<Self> {
        let release = Release::new(&plan.programs)?;
        let options = Options {
            split: Share::percent(SHARE_PERCENT)?,
            // Of little traffic much, or the ramp would wait for comparisons.
            mirror: Share::percent(50)?,
            ..Options::default()
        };
        let stack = Stack::start(&release.program(), &options)?;
        Ok(Place { stack, plan: plan.clone(), release })
    }

    pub(super) fn split(&self) -> anyhow::Result<Split> {
        self.stack.settings().nginx().served()
    }

    /// Restarts a part as a deployment does, and waits until it is ready.
    pub(super) fn restart(&self, part: Part) -> anyhow::Result<()> {
        self.end_and_wait(part, Signal::TERM)
    }

    /// Ends a part by a signal; it is back, and ready, on return.
    pub(super) fn end_and_wait(&self, part: Part, signal: Signal) -> anyhow::Result<()> {
        let before = self.stack.pid_of(part)?;
        kill_process(before, signal).with_context(|| part.name())?;
        let deadline = Instant::now() + RECOVERS_WITHIN;
        // A part that ends takes its time; until it has, it is the old one that is ready.
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
        Ok(children.split_whitespace().filter_map(pid).collect())
    }

    /// Deploys the Rust service with faults, or the right one again.
    pub(super) fn deploy(&self, with_faults: bool) -> anyhow::Result<()> {
        self.release.install(with_faults)?;
        self.restart(Part::QrService)
    }

    /// The `ramp` program, to be run beside the load.
    pub(super) fn ramp(&self) -> Command {
        let mut command = Command::new(self.plan.programs.join("ramp"));
        command.envs(self.stack.environment());
        command
    }

    pub(super) fn wait_until_both_serve(&self) -> anyhow::Result<()> {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(5)))
            .build()
            .into();
        let url = format!("{}/qrcode?text=ready", self.stack.url());
        let serves = |arm: &str, name: &str| {
            let answer = agent.get(&url).header("X-Route-Arm", arm).call();
            answer.is_ok_and(|answer| {
                answer
                    .headers()
                    .get("x-served-by")
                    .is_some_and(|by| by.as_bytes() == name.as_bytes())
            })
        };
        let deadline = Instant::now() + RECOVERS_WITHIN;
        while !(serves("new", "qr-service") && serves("old", "legacy-node")) {
            ensure!(Instant::now() < deadline, "after {RECOVERS_WITHIN:?} not both serve");
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

/// The program that supervisord starts as the Rust service: a script that starts the right one, or,
/// after a bad release, the one with faults.
struct Release {
    folder: TempDir,
    programs: PathBuf,
}

impl Release {
    fn new(programs: &Path) -> anyhow::Result<Self> {
        let release = Release { folder: tempfile::tempdir()?, programs: programs.to_owned() };
        release.install(false)?;
        // The stack looks for it beside the service.
        std::os::unix::fs::symlink(programs.join("shadow"), release.folder.path().join("shadow"))?;
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
