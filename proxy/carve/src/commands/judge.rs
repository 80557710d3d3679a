//! `carve judge`.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

use anstream::{print, println};
use anyhow::{Context, ensure};
use clap::Args;
use evidence::interval::{Assigned, Interval};
use evidence::trial::Trial;
use evidence::{Judgement, Verdict};
use rollout::{Route, lines};
use route::Key;

use super::ramp::verdict_code;
use crate::place::Place;

const HELP: &str = "\
Each line of FILE is an interval as JSON, in the order of time. What is left out is 0:
  {\"end\": 1767225600, \"seconds\": 5, \"share\": 5,
   \"new\": {\"requests\": 250, \"refused\": 0, \"failures\": 1, \"helped\": 1, \"slow\": 2,
           \"statuses\": [249, 0, 0], \"empty\": 0, \"outages\": 0, \"out_seconds\": 0},
   \"old\": {...}, \"pairs\": 50, \"failed\": {\"new\": 0, \"old\": 0},
   \"slower\": [{\"new\": 1, \"old\": 2}, ...], \"compared\": {\"requests\": 40, \"events\": 0},
   \"shadow_statuses\": [50, 0, 0, 0], \"noise\": {...}, \"own_new\": {...}, \"own_old\": {...}}
end: when it ended, in seconds since 1970. share: the new side's, in percent; a new one is a step.
failures: attempts that failed; what nginx refused is none. statuses: 2xx, 3xx, 4xx of the side itself;
shadow_statuses: those and 5xx that the shadow got from the old side.
docs/gates.md explains the rest.

Exit codes: 0 every test passes; 3 one fails; 4 a proof is missing

Example:
  carve judge qrcode --counts last-month.jsonl";

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct Judge {
    /// The route whose tests judge, and whose key assigns requests [default: the standard tests, by request]
    route: Option<String>,
    /// What was counted, interval by interval
    #[arg(long, value_name = "FILE")]
    counts: PathBuf,
    /// The tests [default: those of proxy/evidence/gates.toml, which are built in]
    #[arg(long, value_name = "FILE")]
    gates: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

impl Judge {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let route = match &self.route {
            Some(name) => self.place.nginx(Some(name))?.route_file()?,
            None => Route::parse("counts", "path = \"/counts\"\nkey = \"request\"\n")?,
        };
        let assigned =
            if route.file.key == Key::Request { Assigned::ByRequest } else { Assigned::ByKey };
        let gates = rollout::judge::gates(self.gates.as_deref(), &route)?;
        let intervals = self.intervals()?;
        let mut moves = intervals.windows(2).filter(|pair| pair[0].share != pair[1].share).count();
        let mut trial = Trial::new(&gates, moves + 1);
        let mut share = f64::NAN;
        for interval in &intervals {
            if interval.share != share {
                if !share.is_nan() {
                    trial.moved(interval.end - interval.seconds);
                    trial.next_step();
                    moves -= 1;
                }
                share = interval.share;
                println!("{}: {share}%, {moves} steps to come", time(interval));
            }
            trial.add(interval, &gates, assigned);
            if trial.worse(&gates).is_some() {
                println!("{}: a run would go back", time(interval));
                break;
            }
        }
        let judgement = Judgement::of(trial.readings(&gates));
        print!("{}", lines(&judgement));
        if judgement.verdict == Verdict::Pass {
            println!("pass: a run would be done");
        }
        Ok(verdict_code(judgement.verdict))
    }

    fn intervals(&self) -> anyhow::Result<Vec<Interval>> {
        let shown = self.counts.display();
        let file = BufReader::new(File::open(&self.counts).with_context(|| shown.to_string())?);
        let mut intervals: Vec<Interval> = Vec::new();
        for (number, line) in (1..).zip(file.lines()) {
            let interval: Interval =
                serde_json::from_str(&line.with_context(|| shown.to_string())?)
                    .with_context(|| format!("{shown}: line {number}"))?;
            let is_later = intervals.last().is_none_or(|last| last.end <= interval.end);
            ensure!(is_later, "{shown}: line {number} ended before the one above it");
            intervals.push(interval);
        }
        ensure!(!intervals.is_empty(), "{shown} has no lines");
        Ok(intervals)
    }
}

fn time(interval: &Interval) -> humantime::Rfc3339Timestamp {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs_f64(interval.end.max(0.0)))
}
