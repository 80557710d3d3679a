//! Ramps on the real stack whose new side is known to be equal or worse, and what clients saw of each.
//!
//! `ramp simulate` plays thousands of ramps on made-up counts; these few have nginx, edge, shadow and
//! Prometheus in them. Both sides are the same app behind a [`Side`], one of which makes a [`Mistake`], so
//! nothing else differs. The app is qr-service, since it answers enough requests in minutes to prove
//! something.

mod side;

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use ramp::Share;
use serde::Serialize;
use stack::{Options, Stack};

use crate::chaos::client::{self, Outcome, Request};
pub use side::{Mistake, Side};

const ROUTE: &str = "qrcode";
/// Exit codes of `ramp run`.
const DONE: i32 = 0;
const ROLLED_BACK: i32 = 3;

/// A kind of new side.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name in tables.
    pub name: &'static str,
    /// What is wrong with it.
    pub mistake: Mistake,
}

/// All kinds.
pub const KINDS: [Kind; 4] = [
    Kind { name: "equal sides", mistake: Mistake::None },
    Kind { name: "1 % wrong pictures", mistake: Mistake::WrongPictures(0.01) },
    Kind { name: "1 % errors", mistake: Mistake::Errors(0.01) },
    Kind { name: "twice the latency", mistake: Mistake::TwiceAsSlow },
];

/// How the ramps run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Requests of clients per second.
    pub rate: f64,
    /// The steps, in percent.
    pub steps: String,
    /// How long each step is held, at least.
    pub hold: Duration,
    /// How much longer a step waits for data.
    pub patience: Duration,
    /// Folder of the programs: qr-service, shadow, edge and ramp.
    pub programs: std::path::PathBuf,
}

/// A ramp that has ended.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// The kind's name.
    pub kind: &'static str,
    /// How it ended, in ramp's words.
    pub said: String,
    /// From its start to its end.
    pub seconds: f64,
    /// The new side's share after it, in percent.
    pub share_percent: String,
    /// Requests of clients.
    pub requests: usize,
    /// Answers other than 200, and requests without an answer.
    pub not_answered: usize,
    /// Pictures of another text.
    pub wrong_pictures: usize,
    /// The time that 99 % of the requests did not exceed, from when they were due.
    pub p99_seconds: f64,
    /// Whether it ended as it should: equal sides go to the last share, others back to 0 %.
    pub right: bool,
}

/// Plays `count` ramps of a kind on a stack of their own.
///
/// # Errors
/// If a stack does not start, or ramp ends by another cause than its judgement.
pub fn play(
    kind: Kind,
    count: usize,
    plan: &Plan,
    mut told: impl FnMut(&Trial),
) -> anyhow::Result<Vec<Trial>> {
    let program = plan.programs.join("qr-service");
    let behind = Stack::start(&program, &Options::default()).context("the app")?;
    let app = format!("http://{}", behind.settings().addresses.new);
    let old = Side::start(&app, Mistake::None)?;
    let new = Side::start(&app, kind.mistake)?;
    let options = Options {
        split: Share::NONE,
        mirror: Share::percent(50)?,
        old_url: Some(old.url().parse().context("the old side's address")?),
        new_url: Some(new.url().parse().context("the new side's address")?),
        ..Options::default()
    };
    let edge = Stack::start(&program, &options).context("the edge")?;
    client::with_load(&edge.url(), plan.rate, |requests| {
        let mut trials = Vec::new();
        for _ in 0..count {
            edge.set_split(ROUTE, Share::NONE)?;
            let began = Instant::now();
            requests.take_until(began);
            let (code, said) = walk(&edge, plan)?;
            let ended = Instant::now();
            let split = edge.settings().nginx(ROUTE).served()?;
            let seen = requests.take_until(ended);
            let wanted = if kind.mistake == Mistake::None { DONE } else { ROLLED_BACK };
            ensure!([DONE, ROLLED_BACK].contains(&code), "ramp ended with {code}: {said}");
            let trial = Trial {
                kind: kind.name,
                said,
                seconds: (ended - began).as_secs_f64(),
                share_percent: split.share_percent.to_string(),
                right: code == wanted,
                ..sum_up(&seen)
            };
            told(&trial);
            trials.push(trial);
        }
        Ok(trials)
    })
}

/// Runs ramp; its exit code and the last line it said.
fn walk(edge: &Stack, plan: &Plan) -> anyhow::Result<(i32, String)> {
    let seconds = |time: Duration| format!("{}s", time.as_secs());
    let mut ramp = Command::new(plan.programs.join("ramp"));
    ramp.args(["run", "--steps", &plan.steps, "--hold", &seconds(plan.hold)]);
    ramp.args(["--patience", &seconds(plan.patience)]).envs(edge.environment());
    let output = ramp.output().context("ramp")?;
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    Ok((output.status.code().context("ramp was killed")?, last.to_owned()))
}

fn sum_up(seen: &[Request]) -> Trial {
    let count = |is: fn(&Outcome) -> bool| seen.iter().filter(|one| is(&one.outcome)).count();
    let mut times: Vec<Duration> = seen.iter().map(|request| request.took).collect();
    times.sort();
    let p99 = times.get((times.len() * 99).div_ceil(100).saturating_sub(1));
    Trial {
        kind: "",
        said: String::new(),
        seconds: 0.0,
        share_percent: String::new(),
        requests: seen.len(),
        not_answered: count(|outcome| matches!(outcome, Outcome::Status(_) | Outcome::Failed(_))),
        wrong_pictures: count(|outcome| matches!(outcome, Outcome::WrongPicture(_))),
        p99_seconds: p99.map_or(f64::NAN, Duration::as_secs_f64),
        right: false,
    }
}
