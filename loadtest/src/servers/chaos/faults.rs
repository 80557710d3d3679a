//! The faults.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rollout::Share;
use rustix::process::Signal;

use super::place::{Place, ROUTE};

/// A fault.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// Its name in tables.
    pub name: &'static str,
    /// Clients may see wrong pictures, until ramp has rolled back.
    pub(super) draws_wrong: bool,
    /// Plays it; the fault is over on return.
    pub(super) play: fn(&Place) -> anyhow::Result<()>,
}

const fn fault(name: &'static str, play: fn(&Place) -> anyhow::Result<()>) -> Fault {
    Fault { name, draws_wrong: false, play }
}

/// A fault of each kind, in the order in which they are played.
pub const FAULTS: [Fault; 9] = [
    fault("split moved, with reloads", move_split),
    fault("legacy-node restarted", restart),
    fault("qr-service killed", |place| place.end_and_wait("qr-service", Signal::KILL)),
    fault("qr-service hangs for a while", hang),
    fault("nginx worker killed", kill_worker),
    fault("shadow and Prometheus stopped", without_watchers),
    fault("ramp's clock jumps", jump_clock),
    fault("the disk is full while ramp runs", fill_disk),
    Fault { draws_wrong: true, ..fault("wrong pictures while ramp runs", draw_wrong_texts) },
];

fn move_split(place: &Place) -> anyhow::Result<()> {
    for number in 0..place.plan.splits {
        let percent = if number % 2 == 0 { 90 } else { 10 };
        place.stack.set_split(ROUTE, Share::percent(percent)?)?;
    }
    place.stack.set_split(ROUTE, place.plan.share)
}

fn restart(place: &Place) -> anyhow::Result<()> {
    (0..place.plan.restarts).try_for_each(|_| place.end_and_wait("legacy-node", Signal::TERM))
}

fn hang(place: &Place) -> anyhow::Result<()> {
    place.stack.signal_part("qr-service", Signal::STOP)?;
    std::thread::sleep(place.plan.stopped);
    place.stack.signal_part("qr-service", Signal::CONT)
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
    command.args(["-f", "+0"]).arg(place.carve("ramp").get_program()).arg("ramp");
    command.envs(place.stack.environment()).env("FAKETIME_TIMESTAMP_FILE", clock.path());
    command.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    let run = start_ramp(place, command)?;
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

/// Nothing can be written: no log, no sample of Prometheus, no state of ramp. Requests must still be answered, and a
/// run must not move. It can be aborted once there is room. A run that cannot write for its route's lease counts as
/// silent, so `carve watch` may have stopped the route.
fn fill_disk(place: &Place) -> anyhow::Result<()> {
    let Some(disk) = &place.disk else {
        anstream::eprintln!("not played, since only root can mount a small disk: a full disk");
        return Ok(());
    };
    place.stack.set_split(ROUTE, Share::NONE)?;
    let mut run = start_ramp(place, place.carve("ramp"))?;
    wait_for_share(place, Share::percent(25)?, Duration::from_secs(20))?;
    let full = disk.fill()?;
    std::thread::sleep(place.plan.hold + Duration::from_secs(5));
    let split = place.split()?;
    drop(full);
    ensure!(split.share_percent <= Share::percent(25)?, "ramp moved to {}", split.share_percent);
    let aborted = place.carve("abort").output().context("carve abort")?;
    ensure!(aborted.status.success(), "carve abort: {}", String::from_utf8_lossy(&aborted.stderr));
    run.wait().context("ramp")?;
    wait_for_share(place, Share::NONE, Duration::from_secs(5))?;
    // Prints an error if the route is not stopped, which is fine.
    let reason = ["--reason", "there is room again"];
    place.carve("clear").args(reason).output().context("carve clear")?;
    place.stack.set_split(ROUTE, place.plan.share)
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
    let master = place.stack.supervisor.pid_of("nginx")?.as_raw_nonzero().to_string();
    let mut kill = Command::new("pkill");
    kill.args(["-KILL", "--oldest", "--parent", &master, "--exact", "nginx"]);
    ensure!(kill.status().context("pkill")?.success(), "nginx has no worker");
    Ok(())
}

fn without_watchers(place: &Place) -> anyhow::Result<()> {
    let watchers = ["shadow", "prometheus"];
    watchers.iter().try_for_each(|part| place.stack.supervisor.stop_part(part))?;
    std::thread::sleep(place.plan.stopped);
    watchers.iter().try_for_each(|part| place.stack.start_part(part))
}

/// Starts `carve ramp` with two steps; `run` is the program.
fn start_ramp(place: &Place, mut run: Command) -> anyhow::Result<Child> {
    let hold = format!("{}s", place.plan.hold.as_secs());
    run.args(["--steps", "25,50", "--hold", &hold, "--every", "1s"]);
    // On a slow machine the shadow's pairs come slowly.
    run.args(["--patience", "2m"]);
    if place.plan.has_short_steps {
        run.arg("--gates").arg(place.stack.gates_for_short_steps()?);
    }
    run.stdout(Stdio::piped()).spawn().with_context(|| run.get_program().display().to_string())
}

/// Deploys a release that draws other texts while ramp holds its first step. ramp has to return to the share it began with,
/// 0, and to exit with its code for a rollback.
fn draw_wrong_texts(place: &Place) -> anyhow::Result<()> {
    const ROLLED_BACK: i32 = 3;
    place.stack.set_split(ROUTE, Share::NONE)?;
    let run = start_ramp(place, place.carve("ramp"))?;
    std::thread::sleep(Duration::from_secs(3));
    place.deploy(true)?;
    let output = run.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.code() == Some(ROLLED_BACK), "ramp ended with {}: {said}", output.status);
    let split = place.split()?;
    ensure!(split.share_percent == Share::NONE, "ramp left the split at {}", split.share_percent);
    place.deploy(false)?;
    place.stack.set_split(ROUTE, place.plan.share)
}
