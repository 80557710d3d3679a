//! `carve judge`.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anstream::{print, println};
use anyhow::{Context, ensure};
use clap::Args;
use evidence::interval::{Assignment, Interval};
use evidence::trial::Trial;
use evidence::{Gates, Judgement, Verdict};
use rollout::{Route, lines};

use super::ramp::verdict_code;
use crate::place::Place;

const HELP: &str = "\
Each line of FILE is an interval as JSON, in the order of time. A missing field counts as 0:
  {\"end\": 1767225600, \"seconds\": 5, \"share\": 5,
   \"new\": {\"requests\": 250, \"refused\": 0, \"failures\": 1, \"helped\": 1, \"slow\": 2,
           \"statuses\": [249, 0, 0], \"empty\": 0, \"outages\": 0, \"out_seconds\": 0},
   \"old\": {...}, \"pairs\": 50, \"failed\": {\"new\": 0, \"old\": 0},
   \"slower\": [{\"new\": 1, \"old\": 2}, ...], \"compared\": {\"requests\": 40, \"events\": 0},
   \"shadow_statuses\": [50, 0, 0, 0], \"noise\": {...}, \"own_new\": {...}, \"own_old\": {...}}
end: when the interval ended, in seconds since 1970. share: the new side's share, in percent; each change of it begins
a step. failures: failed attempts, without the requests that nginx refused. statuses: the side's own 2xx, 3xx and 4xx;
shadow_statuses: 2xx, 3xx, 4xx and 5xx that the shadow got from the old side.
docs/gates.md explains the rest.

With --from, the counts come from Prometheus, and --counts names the file to save them in.

Exit codes: 0 every test passes; 3 one fails; 4 a proof is missing

Examples:
  carve judge qrcode --from 2026-01-01T00:00:00Z --to 2026-01-31T00:00:00Z --counts january.jsonl
  carve judge qrcode --counts january.jsonl --gates stricter.toml";

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct Judge {
    /// The route whose gates and key apply [default: the standard gates, with the key request]
    route: Option<String>,
    /// The counts, one interval a line; with --from, the file to save them in
    #[arg(long, required_unless_present = "from", value_name = "FILE")]
    counts: Option<PathBuf>,
    /// Judge the counts in Prometheus from this time on
    #[arg(long, value_name = "TIME")]
    from: Option<humantime::Timestamp>,
    /// Judge the counts until this time [default: now]
    #[arg(long, requires = "from", value_name = "TIME")]
    to: Option<humantime::Timestamp>,
    /// Print the verdicts as JSON
    #[arg(long)]
    json: bool,
    /// The gates [default: those of proxy/evidence/gates.toml, which are built in]
    #[arg(long, value_name = "FILE")]
    gates: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

impl Judge {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let route = match &self.route {
            None if self.from.is_none() => {
                Route::parse("counts", "path = \"/counts\"\nkey = \"request\"\n")?
            }
            name => self.place.nginx(name.as_deref())?.route_file()?,
        };
        let assigned = Assignment::from(&route.file.key);
        let gates = rollout::judge::gates(self.gates.as_deref(), &route)?;
        let intervals = self.intervals(&gates, &route.name)?;
        let mut said = String::new();
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
                let _ = writeln!(said, "{}: {share}%, {moves} steps to come", time(interval));
            }
            trial.add(interval, &gates, assigned);
            if trial.worse(&gates).is_some() {
                let _ = writeln!(said, "{}: a run would go back", time(interval));
                break;
            }
        }
        trial.reach(f64::INFINITY, &gates);
        let judgement = Judgement::of(trial.readings(&gates));
        if self.json {
            println!("{}", serde_json::to_string_pretty(&judgement)?);
            return Ok(verdict_code(judgement.verdict));
        }
        print!("{said}{}", lines(&judgement));
        if judgement.verdict == Verdict::Pass {
            println!("pass: a run would be done");
        }
        Ok(verdict_code(judgement.verdict))
    }

    fn intervals(&self, gates: &Gates, route: &str) -> anyhow::Result<Vec<Interval>> {
        let Some(from) = self.from else {
            return read(self.counts.as_deref().context("--counts")?);
        };
        let to = self.to.map_or_else(SystemTime::now, Into::into);
        let prometheus = self.place.prometheus()?;
        let intervals = rollout::judge::counted(gates, &prometheus, route, (from.into(), to))?;
        ensure!(!intervals.is_empty(), "{} counted nothing of {route} then", prometheus.url);
        if let Some(counts) = &self.counts {
            write(counts, &intervals).with_context(|| counts.display().to_string())?;
        }
        Ok(intervals)
    }
}

fn write(counts: &Path, intervals: &[Interval]) -> anyhow::Result<()> {
    let mut file = BufWriter::new(File::create(counts)?);
    for interval in intervals {
        writeln!(file, "{}", serde_json::to_string(interval)?)?;
    }
    Ok(file.flush()?)
}

fn read(counts: &Path) -> anyhow::Result<Vec<Interval>> {
    let shown = counts.display();
    let file = BufReader::new(File::open(counts).with_context(|| shown.to_string())?);
    let mut intervals: Vec<Interval> = Vec::new();
    for (number, line) in (1..).zip(file.lines()) {
        let interval: Interval = serde_json::from_str(&line.with_context(|| shown.to_string())?)
            .with_context(|| format!("{shown}: line {number}"))?;
        let is_later = intervals.last().is_none_or(|last| last.end <= interval.end);
        ensure!(is_later, "{shown}: line {number} ended before the one above it");
        intervals.push(interval);
    }
    ensure!(!intervals.is_empty(), "{shown} has no lines");
    Ok(intervals)
}

fn time(interval: &Interval) -> humantime::Rfc3339Timestamp {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs_f64(interval.end.max(0.0)))
}
