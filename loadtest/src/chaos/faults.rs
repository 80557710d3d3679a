//! The faults.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use ramp::Share;
use rustix::process::{Signal, kill_process};
use stack::Part;

use super::place::{Place, SHARE_PERCENT};

/// Whether clients may get wrong pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pictures {
    /// Never.
    Right,
    /// Until the ramp has gone back: that is the fault.
    WrongForAWhile,
}

/// Something that goes wrong, and is over on return.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// Its name in tables.
    pub name: &'static str,
    /// What clients get.
    pub pictures: Pictures,
    /// Plays it.
    pub play: fn(&Place) -> anyhow::Result<()>,
}

const fn fault(name: &'static str, play: fn(&Place) -> anyhow::Result<()>) -> Fault {
    Fault { name, pictures: Pictures::Right, play }
}

/// All of them, in the order in which they are played.
pub const FAULTS: [Fault; 10] = [
    fault("none: the ramp goes all the way", ramp_to_all),
    fault("split moved, with reloads", move_split),
    fault("Rust restarted", |place| restart(place, Part::QrService)),
    fault("Node restarted", |place| restart(place, Part::LegacyNode)),
    fault("Rust killed", |place| place.end_and_wait(Part::QrService, Signal::KILL)),
    fault("Node killed", |place| place.end_and_wait(Part::LegacyNode, Signal::KILL)),
    fault("Rust stopped for a while", stop_rust),
    fault("nginx worker killed", kill_worker),
    fault("shadow and Prometheus away", without_watchers),
    Fault {
        name: "wrong pictures while the ramp runs",
        pictures: Pictures::WrongForAWhile,
        play: ramp_with_wrong_pictures,
    },
];

fn move_split(place: &Place) -> anyhow::Result<()> {
    for number in 0..place.plan.splits {
        let percent = if number % 2 == 0 { 90 } else { 10 };
        place.stack.set_split(Share::percent(percent)?)?;
    }
    place.stack.set_split(Share::percent(SHARE_PERCENT)?)
}

fn restart(place: &Place, part: Part) -> anyhow::Result<()> {
    (0..place.plan.restarts).try_for_each(|_| place.restart(part))
}

fn stop_rust(place: &Place) -> anyhow::Result<()> {
    place.stack.signal_part(Part::QrService, Signal::STOP)?;
    std::thread::sleep(place.plan.stopped);
    place.stack.signal_part(Part::QrService, Signal::CONT)
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

/// No fault, but what all this is for: every gate passes, and nobody notices.
fn ramp_to_all(place: &Place) -> anyhow::Result<()> {
    place.stack.set_split(Share::NONE)?;
    let output = ramp(place, place.plan.steps)?.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "ramp ended with {}: {said}", output.status);
    let split = place.split()?;
    ensure!(split.share_percent == Share::ALL, "ramp left the split at {}", split.share_percent);
    place.stack.set_split(Share::percent(SHARE_PERCENT)?)
}

/// Starts the ramp over `steps`.
fn ramp(place: &Place, steps: &str) -> anyhow::Result<Child> {
    let hold = format!("{}s", place.plan.hold.as_secs());
    let mut run = place.ramp();
    run.args(["run", "--steps", steps, "--hold", &hold, "--every", "1s", "--gates"]);
    run.arg(gates(place)?).stdout(Stdio::piped()).spawn().context("ramp")
}

/// The gates that everyone has, but with `p99_margin_seconds`.
fn gates(place: &Place) -> anyhow::Result<PathBuf> {
    const P99_IS_JUDGED: &str = "judge = \"at the end\"";
    let settings = place.stack.settings();
    let own = settings.root.join("proxy/ramp/gates.toml");
    let text = fs::read_to_string(&own).with_context(|| own.display().to_string())?;
    ensure!(text.matches(P99_IS_JUDGED).count() == 1, "{} has another p99", own.display());
    let margin = format!("{P99_IS_JUDGED}\nmargin = {:?}", place.plan.p99_margin_seconds);
    let gates = settings.run_dir.join("gates.toml");
    fs::write(&gates, text.replace(P99_IS_JUDGED, &margin)).context("gates")?;
    Ok(gates)
}

/// A release that draws other texts is deployed while the ramp holds its first step. It has to be
/// back where it began, and to say so by its exit code.
fn ramp_with_wrong_pictures(place: &Place) -> anyhow::Result<()> {
    const ROLLED_BACK: i32 = 3;
    place.stack.set_split(Share::NONE)?;
    let run = ramp(place, "25,50")?;
    std::thread::sleep(Duration::from_secs(3));
    place.deploy(true)?;
    let output = run.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.code() == Some(ROLLED_BACK), "ramp ended with {}: {said}", output.status);
    let split = place.split()?;
    ensure!(split.share_percent == Share::NONE, "ramp left the split at {}", split.share_percent);
    place.deploy(false)?;
    place.stack.set_split(Share::percent(SHARE_PERCENT)?)
}
