//! The stack that faults are played on; its qr-service can be replaced, as by a release.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use carve::local::{Stack, http};
use rollout::Split;
use rustix::process::{Signal, kill_process};
use tempfile::{NamedTempFile, TempDir};

use super::Plan;
use crate::servers::demonstration;

/// The route that is played with.
pub(super) const ROUTE: &str = "qrcode";

const RECOVERS_WITHIN: Duration = Duration::from_secs(40);
/// The supervisor counts a part that ends within 1 s of its start as one that does not start.
const COUNTS_AS_STARTED: Duration = Duration::from_millis(1500);

/// The stack that faults are played on, with its plan, its programs and its disk.
pub(super) struct Place {
    pub(super) stack: Stack,
    pub(super) plan: Plan,
    /// The script that the supervisor starts as qr-service, and links to the other programs, which the stack looks for
    /// in the same folder.
    release: TempDir,
    pub(super) disk: Option<SmallDisk>,
}

impl Place {
    pub(super) fn start(plan: &Plan) -> anyhow::Result<Self> {
        let release = tempfile::tempdir()?;
        for name in ["carve", "relay-service", "relay-home"] {
            std::os::unix::fs::symlink(plan.programs.join(name), release.path().join(name))?;
        }
        install(release.path(), &plan.programs, false)?;
        let disk = SmallDisk::mount()?;
        let folder =
            disk.as_ref().map_or_else(std::env::temp_dir, |it| it.folder.path().to_owned());
        let stack = Stack::start_in(
            &folder,
            &release.path().join("carve"),
            Some(&demonstration()),
            |it| {
                (it.wanted.share, it.wanted.mirror) = (Some(plan.share), Some(plan.mirror));
            },
        )?;
        Ok(Place { stack, plan: plan.clone(), release, disk })
    }

    /// The split that nginx serves. Asks twice, because a machine that stalls may answer late once.
    pub(super) fn split(&self) -> anyhow::Result<Split> {
        let served = || self.stack.settings().nginx(ROUTE).served();
        served().or_else(|_| served())
    }

    /// Ends a part by a signal, and waits until the supervisor has restarted it and it is ready.
    pub(super) fn end_and_wait(&self, part: &str, signal: Signal) -> anyhow::Result<()> {
        let before = self.stack.supervisor.pid_of(part)?;
        kill_process(before, signal).with_context(|| part.to_owned())?;
        let deadline = Instant::now() + RECOVERS_WITHIN;
        // Until the old process has ended, it still answers that it is ready.
        while self.stack.supervisor.pid_of(part).is_ok_and(|now| now == before) {
            ensure!(Instant::now() < deadline, "{part} does not end");
            std::thread::sleep(Duration::from_millis(50));
        }
        self.stack.wait_until_ready(part)?;
        std::thread::sleep(COUNTS_AS_STARTED);
        Ok(())
    }

    /// Deploys qr-service, with or without faults.
    pub(super) fn deploy(&self, with_faults: bool) -> anyhow::Result<()> {
        install(self.release.path(), &self.plan.programs, with_faults)?;
        self.end_and_wait("qr-service", Signal::TERM)
    }

    /// A command of carve, for this stack.
    pub(super) fn carve(&self, name: &str) -> Command {
        let mut command = Command::new(self.plan.programs.join("carve"));
        command.arg(name).envs(self.stack.environment());
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

/// This variable is set if this process' mounts disappear with it.
pub const OWN_MOUNTS: &str = "CHAOS_OWN_MOUNTS";

/// A disk for the stack's folder that a fault can fill. Only root may mount one.
pub(super) struct SmallDisk {
    pub(super) folder: TempDir,
}

impl SmallDisk {
    /// Room for all data of a soak.
    const SIZE: &str = "size=1g,mode=755";

    fn mount() -> anyhow::Result<Option<Self>> {
        if std::env::var_os(OWN_MOUNTS).is_none() {
            return Ok(None);
        }
        let folder = tempfile::tempdir()?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", Self::SIZE, "chaos"]).arg(folder.path());
        // A container's root may not mount either.
        let is_mounted = mount.output().is_ok_and(|output| output.status.success());
        Ok(is_mounted.then_some(SmallDisk { folder }))
    }

    /// Writes a file until nothing more fits. The disk has room again once the file is dropped.
    pub(super) fn fill(&self) -> anyhow::Result<NamedTempFile> {
        let mut file = NamedTempFile::new_in(self.folder.path())?;
        for block in [1 << 20, 4096, 1] {
            while file.write_all(&vec![0; block]).is_ok() {}
        }
        Ok(file)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // The stack's processes may still have files open.
        let _ = Command::new("umount").arg("--lazy").arg(self.folder.path()).status();
    }
}

/// Installs a script that starts qr-service or, as a bad release, the program that draws wrong pictures.
fn install(folder: &Path, programs: &Path, with_faults: bool) -> anyhow::Result<()> {
    let name = if with_faults { "examples/wrong_pictures" } else { "qr-service" };
    let program = programs.join(name);
    ensure!(program.is_file(), "{} is not built (make chaos builds it)", program.display());
    let new = folder.join("new");
    fs::write(&new, format!("#!/bin/sh\nexec '{}' \"$@\"\n", program.display()))?;
    fs::set_permissions(&new, Permissions::from_mode(0o755))?;
    fs::rename(new, folder.join("qr-service")).context("cannot install a release")
}
