//! The faults.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use ramp::Share;
use rustix::process::{Signal, kill_process};
use stack::Part;

use super::place::{Place, ROUTE};

/// A fault.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// Its name in tables.
    pub name: &'static str,
    /// Whether clients may see wrong pictures, until ramp has rolled back.
    pub draws_wrong: bool,
    /// Plays it; the fault is over on return.
    pub play: fn(&Place) -> anyhow::Result<()>,
}

const fn fault(name: &'static str, play: fn(&Place) -> anyhow::Result<()>) -> Fault {
    Fault { name, draws_wrong: false, play }
}

/// A fault of each kind, in the order in which they are played.
pub const FAULTS: [Fault; 9] = [
    fault("split moved, with reloads", move_split),
    fault("legacy-node restarted", |place| restart(place, Part::LegacyNode)),
    fault("qr-service killed", |place| place.end_and_wait(Part::QrService, Signal::KILL)),
    fault("qr-service hangs for a while", |place| hang(place, Part::QrService)),
    fault("nginx worker killed", kill_worker),
    fault("shadow and Prometheus stopped", without_watchers),
    fault("ramp's clock jumps", jump_clock),
    fault("the disk is full while ramp runs", fill_disk),
    Fault {
        name: "wrong pictures while ramp runs",
        draws_wrong: true,
        play: ramp_with_wrong_pictures,
    },
];

fn move_split(place: &Place) -> anyhow::Result<()> {
    for number in 0..place.plan.splits {
        let percent = if number % 2 == 0 { 90 } else { 10 };
        place.stack.set_split(ROUTE, Share::percent(percent)?)?;
    }
    place.stack.set_split(ROUTE, place.plan.share)
}

fn restart(place: &Place, part: Part) -> anyhow::Result<()> {
    (0..place.plan.restarts).try_for_each(|_| place.end_and_wait(part, Signal::TERM))
}

fn hang(place: &Place, part: Part) -> anyhow::Result<()> {
    place.stack.signal_part(part, Signal::STOP)?;
    std::thread::sleep(place.plan.stopped);
    place.stack.signal_part(part, Signal::CONT)
}

/// Goes back from a run.
fn go_back(place: &Place, mut run: Child) -> anyhow::Result<()> {
    let aborted = place.ramp().arg("abort").output().context("ramp abort")?;
    ensure!(aborted.status.success(), "ramp abort: {}", String::from_utf8_lossy(&aborted.stderr));
    run.wait().context("ramp")?;
    wait_for_share(place, Share::NONE, Duration::from_secs(5))
}

/// ramp's clock goes back by an hour and on by two, in the middle of a step. The run has to go on as if
/// nothing had happened.
fn jump_clock(place: &Place) -> anyhow::Result<()> {
    let clock = tempfile::NamedTempFile::new()?;
    let set = |offset: &str| fs::write(clock.path(), offset).context("the clock");
    set("+0")?;
    place.stack.set_split(ROUTE, Share::NONE)?;
    let mut command = Command::new("faketime");
    // With this variable the program reads the time from the file, again and again.
    command.args(["-f", "+0"]).arg(place.ramp().get_program());
    command.envs(place.stack.environment()).env("FAKETIME_TIMESTAMP_FILE", clock.path());
    command.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    let run = start_ramp(place, command, "25,50")?;
    wait_for_share(place, Share::percent(25)?, Duration::from_secs(20))?;
    for offset in ["-1h", "+1h"] {
        set(offset)?;
        std::thread::sleep(Duration::from_secs(3));
    }
    let output = run.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "ramp ended with {}: {said}", output.status);
    place.stack.set_split(ROUTE, place.plan.share)
}

/// Nothing can be written: no log, no sample of Prometheus, no state of ramp. Requests are answered all
/// the same, and a run does not move. It can be aborted once there is room. A run that cannot write for its
/// route's lease is silent, so `ramp watch` may have stopped the route.
fn fill_disk(place: &Place) -> anyhow::Result<()> {
    let Some(disk) = &place.disk else {
        anstream::eprintln!("not played, since only root can mount a small disk: a full disk");
        return Ok(());
    };
    let run = ramp_at_first_step(place)?;
    let full = disk.fill()?;
    std::thread::sleep(place.plan.hold + Duration::from_secs(5));
    let split = place.split()?;
    drop(full);
    ensure!(split.share_percent <= Share::percent(25)?, "ramp moved to {}", split.share_percent);
    go_back(place, run)?;
    // It says that the route is not stopped, where it is not.
    place
        .ramp()
        .args(["clear", "--reason", "there is room again"])
        .output()
        .context("ramp clear")?;
    place.stack.set_split(ROUTE, place.plan.share)
}

/// A run from 0 % that holds 25 %.
fn ramp_at_first_step(place: &Place) -> anyhow::Result<Child> {
    place.stack.set_split(ROUTE, Share::NONE)?;
    let run = ramp(place, "25,50")?;
    wait_for_share(place, Share::percent(25)?, Duration::from_secs(20))?;
    Ok(run)
}

fn wait_for_share(place: &Place, share: Share, patience: Duration) -> anyhow::Result<()> {
    let deadline = Instant::now() + patience;
    while place.split()?.share_percent != share {
        ensure!(Instant::now() < deadline, "the share is not {share} after {patience:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

fn kill_worker(place: &Place) -> anyhow::Result<()> {
    let worker = *place.workers()?.first().context("nginx has no worker")?;
    kill_process(worker, Signal::KILL).context("nginx worker")
}

fn without_watchers(place: &Place) -> anyhow::Result<()> {
    let watchers = [Part::Shadow, Part::Prometheus];
    watchers.iter().try_for_each(|part| place.stack.stop_part(*part))?;
    std::thread::sleep(place.plan.stopped);
    watchers.iter().try_for_each(|part| place.stack.start_part(*part))
}

/// Starts `ramp run` with `steps`.
fn ramp(place: &Place, steps: &str) -> anyhow::Result<Child> {
    start_ramp(place, place.ramp(), steps)
}

fn start_ramp(place: &Place, mut run: Command, steps: &str) -> anyhow::Result<Child> {
    let hold = format!("{}s", place.plan.hold.as_secs());
    run.args(["run", "--steps", steps, "--hold", &hold, "--every", "1s"]);
    // On a slow machine the shadow's pairs come slowly.
    run.args(["--patience", "2m"]);
    if place.plan.has_short_steps {
        run.arg("--gates").arg(place.stack.gates_for_short_steps()?);
    }
    run.stdout(Stdio::piped()).spawn().with_context(|| run.get_program().display().to_string())
}

/// Deploys a release that draws other texts while ramp holds its first step.
fn ramp_with_wrong_pictures(place: &Place) -> anyhow::Result<()> {
    place.stack.set_split(ROUTE, Share::NONE)?;
    let run = ramp(place, "25,50")?;
    std::thread::sleep(Duration::from_secs(3));
    place.deploy(true)?;
    rolled_back(place, run)?;
    place.deploy(false)?;
    place.stack.set_split(ROUTE, place.plan.share)
}

/// ramp has to return to the share it began with, 0, and to exit with its code for a rollback.
fn rolled_back(place: &Place, run: Child) -> anyhow::Result<()> {
    const ROLLED_BACK: i32 = 3;
    let output = run.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.code() == Some(ROLLED_BACK), "ramp ended with {}: {said}", output.status);
    let split = place.split()?;
    ensure!(split.share_percent == Share::NONE, "ramp left the split at {}", split.share_percent);
    Ok(())
}
