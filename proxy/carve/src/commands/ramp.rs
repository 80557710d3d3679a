//! `carve ramp`, and the commands for a run: pause, resume, abort.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anstream::{print, println};
use anyhow::{Context, bail};
use clap::Args;
use evidence::Verdict;
use rollout::run::{Surroundings, request};
use rollout::state::{Back, Phase, Plan, Request, State};
use rollout::{Nginx, Share, judge};

use crate::place::{OnRoute, Place, ReasonArgs, Reports};
use crate::signals::Signals;

const ROLLED_BACK: u8 = 3;
const INCONCLUSIVE: u8 = 4;
const ABORTED: u8 = 5;

/// How long a run may take to see a request; it may be waiting for nginx or Prometheus.
const TAKEN_WITHIN: Duration = Duration::from_secs(40);
/// How long an abort may take; it needs a reload of nginx.
const ENDS_WITHIN: Duration = Duration::from_secs(60);

const EXAMPLES: &str = "\
Examples:
  carve ramp qrcode
  carve ramp qrcode --steps 1,5,25 --hold 10m

Exit codes: 0 done; 1 failed, the split is unchanged; 2 invalid arguments; 3 a gate failed, back at the start
share; 4 inconclusive, the share stays; 5 aborted or rolled back by hand; 128 and the signal's number if a signal
ended it.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Ramp {
    /// The share of each step [default: those of the unfinished run, else of the route file, else
    /// 1,5,25,50,100]
    #[arg(long, value_parser = parse_steps, value_name = "PERCENT,PERCENT...")]
    steps: Option<Steps>,
    /// How long to hold each step [default: that of the unfinished run, else of the route file, else 60s]
    #[arg(long, value_name = "TIME")]
    hold: Option<humantime::Duration>,
    /// How much longer to wait if data is missing [default: the time of --hold]
    #[arg(long, value_name = "TIME")]
    patience: Option<humantime::Duration>,
    /// The gates [default: those of proxy/evidence/gates.toml, which are built in]
    #[arg(long, value_name = "FILE")]
    gates: Option<PathBuf>,
    /// Judge the last --hold as if a step ended now, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// With --dry-run: print the verdicts as JSON
    #[arg(long, requires = "dry_run")]
    json: bool,
    /// On a cluster: return once the run is recorded for `carve serve`, without waiting for its end
    #[arg(long)]
    detach: bool,
    #[command(flatten)]
    pace: Pace,
    #[command(flatten)]
    why: ReasonArgs,
    #[command(flatten)]
    on: OnRoute,
}

#[derive(Args, Clone, Debug)]
struct Pace {
    /// The time between two judgements
    #[arg(long, default_value = "2s", value_name = "TIME")]
    every: humantime::Duration,
    #[command(flatten)]
    reports: Reports,
}

#[derive(Clone, Debug)]
pub(super) struct Steps(pub(super) Vec<Share>);

pub(super) fn parse_steps(text: &str) -> anyhow::Result<Steps> {
    let steps: Vec<Share> = text.split(',').map(str::parse).collect::<anyhow::Result<_>>()?;
    route::check_steps(&steps)?;
    Ok(Steps(steps))
}

impl Ramp {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let (nginx, place) = (&*self.on.nginx_because(&self.why)?, &self.on.place);
        let unfinished = State::load_unfinished(&nginx.route_dir())?.map(|state| state.plan);
        let plan = self.plan(unfinished, Plan::of(&nginx.route_file()?.file.ramp))?;
        if self.dry_run {
            return judge_only(place, nginx, &plan, self.json);
        }
        walk(place, nginx, plan, &self.pace, self.detach)
    }

    /// Takes each value from the arguments, else from the unfinished run, else from the route's file. Fails only if the
    /// path of `--gates` cannot be made absolute.
    fn plan(&self, unfinished: Option<Plan>, file: Plan) -> anyhow::Result<Plan> {
        let fresh = unfinished.is_none();
        let rest = unfinished.unwrap_or(file);
        let hold = self.hold.map_or(rest.hold, Into::into);
        let default_patience = if fresh { hold } else { rest.patience };
        let gates = self.gates.as_ref().map(std::path::absolute).transpose().context("--gates")?;
        Ok(Plan {
            steps: self.steps.clone().map_or(rest.steps, |steps| steps.0),
            hold,
            patience: self.patience.map_or(default_patience, Into::into),
            gates: gates.or(rest.gates),
            confirm: rest.confirm,
        })
    }
}

fn walk(
    place: &Place,
    nginx: &Nginx,
    plan: Plan,
    pace: &Pace,
    detach: bool,
) -> anyhow::Result<ExitCode> {
    if place.is_cluster() {
        return order(place, nginx, plan, detach);
    }
    let run = |around: &Surroundings<'_>| rollout::run::run(around, plan);
    with_surroundings(place, nginx, *pace.every, &pace.reports, run)
}

fn order(place: &Place, nginx: &Nginx, plan: Plan, detach: bool) -> anyhow::Result<ExitCode> {
    let signals = Signals::watch()?;
    let run = rollout::run::order(nginx, &place.prometheus()?, plan)?;
    println!("The run is recorded; `carve serve` carries it out, even if this command ends.");
    if detach {
        return Ok(ExitCode::SUCCESS);
    }
    let phase = rollout::run::attend(&place.cluster()?, &nginx.route, &run, &signals.received)?;
    Ok(phase.map_or_else(|| signals.exit_code().unwrap_or(ExitCode::FAILURE), exit_code))
}

fn exit_code(phase: Phase) -> ExitCode {
    match phase {
        Phase::Done => ExitCode::SUCCESS,
        Phase::RolledBack => ExitCode::from(ROLLED_BACK),
        Phase::Inconclusive => ExitCode::from(INCONCLUSIVE),
        Phase::Aborted | Phase::Stopped => ExitCode::from(ABORTED),
        _ => ExitCode::FAILURE,
    }
}

fn with_surroundings(
    place: &Place,
    nginx: &Nginx,
    every: Duration,
    reports: &Reports,
    work: impl FnOnce(&Surroundings<'_>) -> anyhow::Result<Phase>,
) -> anyhow::Result<ExitCode> {
    let signals = Signals::watch()?;
    let lock = rollout::take(nginx)?;
    let prometheus = place.prometheus()?;
    let (lock, prometheus, interrupted) = (&lock, &prometheus, &*signals.received);
    let report = reports.folder()?;
    let phase = work(&Surroundings { nginx, lock, prometheus, every, interrupted, report })?;
    Ok(match phase {
        Phase::Interrupted => signals.exit_code().unwrap_or(ExitCode::FAILURE),
        phase => exit_code(phase),
    })
}

fn judge_only(place: &Place, nginx: &Nginx, plan: &Plan, json: bool) -> anyhow::Result<ExitCode> {
    let gates = judge::gates(plan.gates.as_deref(), &nginx.route_file()?)?;
    let split = rollout::current(&nginx.route_dir())?;
    let share = split.share_percent;
    let judgement =
        judge::judge_past(&gates, &place.prometheus()?, &nginx.route, &split, plan.hold);
    if json {
        println!("{}", serde_json::to_string_pretty(&judgement)?);
        return Ok(verdict_code(judgement.verdict));
    }
    let hold = humantime::format_duration(plan.hold);
    println!("dry run: {share}% on the new side, judged by the last {hold}; nothing moves");
    print!("{}", rollout::lines(&judgement));
    let next = plan.steps.iter().find(|step| **step > share);
    match (judgement.verdict, next) {
        (Verdict::Pass, Some(next)) => println!("pass: a run would move on, to {next}%"),
        (Verdict::Pass, None) => println!("pass: a run would end here"),
        (Verdict::Fail, _) => {
            println!("fail: a run would roll back: {}", judgement.named(Verdict::Fail));
        }
        (Verdict::Inconclusive, _) => {
            let why = judgement.named(Verdict::Inconclusive);
            println!("inconclusive: a run would wait: {why}");
        }
    }
    Ok(verdict_code(judgement.verdict))
}

/// The exit code of a command that only judges.
pub(super) fn verdict_code(verdict: Verdict) -> ExitCode {
    match verdict {
        Verdict::Pass => ExitCode::SUCCESS,
        Verdict::Fail => ExitCode::from(ROLLED_BACK),
        Verdict::Inconclusive => ExitCode::from(INCONCLUSIVE),
    }
}

/// The unfinished run, and whether it has a process.
fn unfinished(nginx: &Nginx) -> anyhow::Result<(State, bool)> {
    let state =
        State::load_unfinished(&nginx.route_dir())?.context("there is no unfinished run")?;
    Ok((state, nginx.holder()?.is_some()))
}

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  carve pause qrcode")]
pub(crate) struct Pause {
    #[command(flatten)]
    why: ReasonArgs,
    #[command(flatten)]
    on: OnRoute,
}

impl Pause {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let nginx = &*self.on.nginx_because(&self.why)?;
        let (state, alive) = unfinished(nginx)?;
        if !alive {
            bail!("the run has no process, so its share stays anyway ({state})");
        }
        request(nginx, Request::Pause, TAKEN_WITHIN)?;
        println!("The run stays at {}%.", state.share());
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  carve resume qrcode")]
pub(crate) struct Resume {
    #[command(flatten)]
    pace: Pace,
    #[command(flatten)]
    why: ReasonArgs,
    #[command(flatten)]
    on: OnRoute,
}

impl Resume {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let nginx = &*self.on.nginx_because(&self.why)?;
        let (state, alive) = unfinished(nginx)?;
        if !alive {
            return walk(&self.on.place, nginx, state.plan, &self.pace, false);
        }
        request(nginx, Request::Resume, TAKEN_WITHIN)?;
        println!("The run resumes at {}%.", state.share());
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  carve abort qrcode --to-old")]
pub(crate) struct Abort {
    /// Return to 0% instead of the run's start share
    #[arg(long)]
    to_old: bool,
    #[command(flatten)]
    reports: Reports,
    #[command(flatten)]
    why: ReasonArgs,
    #[command(flatten)]
    on: OnRoute,
}

impl Abort {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let nginx = &*self.on.nginx_because(&self.why)?;
        let back = if self.to_old { Back::Old } else { Back::Start };
        let (state, alive) = unfinished(nginx)?;
        if !alive {
            let abort = |around: &Surroundings<'_>| rollout::run::abort(around, back);
            with_surroundings(&self.on.place, nginx, Duration::ZERO, &self.reports, abort)?;
            return Ok(ExitCode::SUCCESS);
        }
        let share = rollout::run::end(nginx, back, ENDS_WITHIN)?;
        let wanted = if back == Back::Old { Share::NONE } else { state.start_share };
        if share != wanted {
            bail!("the run ended at {share}%; `carve status {}` shows the reason", nginx.route);
        }
        println!("The share is back at {share}%.");
        Ok(ExitCode::SUCCESS)
    }
}
