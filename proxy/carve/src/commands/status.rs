//! `carve status`: what runs, and where each route stands.

use std::process::ExitCode;
use std::time::Duration;

use anstream::{print, println};
use carve::local::supervise::PartState;
use carve::local::{Settings, readiness};
use clap::Args;
use rollout::state::State;
use rollout::{Nginx, Split, Stop};
use route::{OnLost, Ramp};
use serde::Serialize;

use super::up;
use crate::place::Place;

/// The exit code if a part is not ready, as in LSB init scripts.
const NOT_RUNNING: u8 = 3;

const EXAMPLES: &str = "\
Examples:
  carve status
  carve status qrcode --json";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Status {
    /// Only this route, without the parts
    route: Option<String>,
    /// Print the status as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

#[derive(Serialize)]
struct Report {
    parts: Vec<PartReport>,
    routes: Vec<RouteReport>,
}

#[derive(Serialize)]
struct PartReport {
    is_ready: bool,
    #[serde(flatten)]
    state: PartState,
}

#[derive(Serialize)]
struct RouteReport {
    route: String,
    split: Split,
    /// The split that nginx reports it serves, or why it is unknown.
    served: Result<Split, String>,
    stop: Result<Option<Stop>, String>,
    /// The split before an unfinished change.
    changed_from: Option<Split>,
    run: Option<State>,
    /// The process that holds the route's lock.
    holder: Option<String>,
    #[serde(skip)]
    is_of_sessions: bool,
    /// The file's settings of runs, if it can be read.
    #[serde(skip)]
    ramp: Option<Ramp>,
}

impl Status {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let stack = if self.route.is_none() { self.place.stack()? } else { None };
        let parts = stack.as_ref().map_or_else(|| Ok(Vec::new()), parts)?;
        let is_down = stack.is_some() && parts.is_empty();
        let routes = match &self.route {
            _ if is_down => Vec::new(),
            Some(route) => vec![route.clone()],
            None => self.place.routes()?,
        };
        let route = |route: &String| RouteReport::of(&*self.place.nginx(Some(route))?);
        let routes = routes.iter().map(route).collect::<anyhow::Result<_>>()?;
        let is_ready = !is_down && parts.iter().all(|part| part.is_ready);
        let report = Report { parts, routes };
        match stack {
            _ if self.json => println!("{}", serde_json::to_string_pretty(&report)?),
            Some(settings) if is_down => println!("{}.", up::supervisor(&settings).nothing_runs()),
            stack => report.print(stack.as_ref())?,
        }
        Ok(if is_ready { ExitCode::SUCCESS } else { ExitCode::from(NOT_RUNNING) })
    }
}

/// The parts and their states; empty if no supervisor runs.
fn parts(settings: &Settings) -> anyhow::Result<Vec<PartReport>> {
    let supervisor = up::supervisor(settings);
    if supervisor.pid().is_none() {
        return Ok(Vec::new());
    }
    let states = supervisor.states()?;
    let pids: Vec<_> = states.iter().filter_map(|state| state.pid).collect();
    let report = |state: PartState| {
        let is_ready = state.pid.is_some() && readiness::is_ready(settings, &state.part, &pids)?;
        Ok(PartReport { is_ready, state })
    };
    states.into_iter().map(report).collect()
}

impl PartReport {
    fn print(&self) {
        let PartState { part, pid, seconds, is_stopped, failure } = &self.state;
        let ready = if self.is_ready { "ready" } else { "not ready" };
        let time = humantime::format_duration(Duration::from_secs(*seconds));
        let state = match (pid, failure) {
            (Some(pid), _) => format!("process {pid}, for {time}"),
            (None, Some(failure)) => format!("does not start: {failure}"),
            (None, None) if *is_stopped => format!("stopped, for {time}"),
            (None, None) => "starts".to_owned(),
        };
        println!("{part:<15} {ready:<9} {state}");
    }
}

impl Report {
    fn print(&self, stack: Option<&Settings>) -> anyhow::Result<()> {
        self.parts.iter().for_each(PartReport::print);
        if let Some(settings) = stack {
            up::print_urls(settings)?;
        }
        self.routes.iter().for_each(RouteReport::print);
        Ok(())
    }
}

impl RouteReport {
    fn of(nginx: &Nginx) -> anyhow::Result<Self> {
        let said = |error: anyhow::Error| format!("{error:#}");
        Ok(RouteReport {
            route: nginx.route.clone(),
            split: rollout::current(&nginx.route_dir())?,
            served: nginx.served().map_err(said),
            stop: rollout::in_force(nginx).map_err(said),
            changed_from: rollout::pending(&nginx.route_dir()),
            run: State::load(&nginx.route_dir())?,
            holder: nginx.holder()?,
            is_of_sessions: nginx.is_of_sessions(),
            ramp: nginx.route_file().ok().map(|route| route.file.ramp),
        })
    }

    fn print(&self) {
        println!("route   {}", self.route);
        println!("share   {}", self.described(&self.split));
        match &self.served {
            Ok(served) if *served == self.split => println!("served  the same"),
            Ok(served) => println!("served  {}", self.described(served)),
            Err(problem) => println!("served  {problem}"),
        }
        match &self.stop {
            Ok(None) => {}
            Ok(Some(stop)) => println!("{}; all of it goes to the old side", stop.said()),
            Err(problem) => println!("stopped ? {problem}"),
        }
        if let Some(before) = &self.changed_from {
            let state = if self.holder.is_some() { "in progress" } else { "interrupted" };
            println!("change  {state}; before it: {}", self.described(before));
        }
        match &self.run {
            Some(run) => {
                let ended = run.phase.is_unfinished() && self.holder.is_none();
                println!(
                    "run     {run}{}",
                    if ended { self.what_follows(run) } else { String::new() }
                );
                if let Some(judgement) = &run.judgement {
                    println!("verdict {}", judgement.verdict.as_str());
                    print!("{}", rollout::lines(judgement));
                }
            }
            None => println!("run     none"),
        }
        println!("holder  {}", self.holder.as_deref().unwrap_or("none"));
    }

    /// What `carve watch` does about a run whose process has ended.
    fn what_follows(&self, run: &State) -> String {
        let Some(ramp) = &self.ramp else { return "; its process has ended".to_owned() };
        let (lease, share) = (ramp.lease, run.start_share);
        let follows = match ramp.on_lost {
            OnLost::Back => format!("the share returns to {share}% within {lease}"),
            OnLost::Hold => "the share stays".to_owned(),
        };
        format!("; its process has ended: {follows}, unless `carve resume` continues it")
    }

    fn described(&self, split: &Split) -> String {
        let Split { share_percent, key, mirror_percent, .. } = split;
        if self.is_of_sessions {
            return format!("{share_percent}% of the sessions to the new side");
        }
        format!("{share_percent}% of {key} to the new side; {mirror_percent}% mirrored")
    }
}
