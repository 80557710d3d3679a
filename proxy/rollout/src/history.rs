//! The report of a run that has ended: its events, each test over time, and the comparisons.
//!
//! During the run, `ramp.history` collects the tests' differences, one line per judgement. The time between two lines
//! grows in proportion to the time since the run began, so a run of a month also has only a few hundred lines.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anstream::eprintln;
use anyhow::Context;
use evidence::{Difference, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::files;
use crate::nginx::Nginx;
use crate::prometheus::{Prometheus, seconds};
use crate::state::{Phase, State};
use route::Share;

const TEMPLATE: &str = include_str!("report.html");
const PLACE: &str = "{}</script>";
/// How many reports of a route stay in its own folder.
const KEPT: usize = 10;
const CLOSEST: Duration = Duration::from_secs(5);
/// The time between two lines, as a part of the run's time so far.
const APART: f64 = 0.03;

/// The results of the tests at a time, in seconds since 1970.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    time: f64,
    step: usize,
    tests: Vec<TestResult>,
}

#[derive(Debug, Serialize, Deserialize)]
struct TestResult {
    test: String,
    verdict: Verdict,
    #[serde(flatten)]
    difference: Difference,
}

/// Collects the results of a run's tests.
#[derive(Debug, Default)]
pub(crate) struct History {
    last: Option<SystemTime>,
}

fn path(route_dir: &Path) -> PathBuf {
    route_dir.join("ramp.history")
}

impl History {
    /// Removes the lines of an earlier run.
    pub(crate) fn begin(&mut self, route_dir: &Path) {
        // If the file cannot be removed, the report shows the earlier lines too, with their times.
        let _ = fs::remove_file(path(route_dir));
        self.last = None;
    }

    /// Appends the results of the last judgement if enough time has passed since the last line. Fails if the file
    /// cannot be written.
    pub(crate) fn add(&mut self, route_dir: &Path, state: &State) -> anyhow::Result<()> {
        let now = SystemTime::now();
        let since = |when: SystemTime| now.duration_since(when).unwrap_or_default();
        let apart = CLOSEST.max(since(began(state)).mul_f64(APART));
        if self.last.is_some_and(|last| since(last) < apart) {
            return Ok(());
        }
        let readings = state.judgement.iter().flat_map(|judgement| &judgement.readings);
        let tests = readings.filter_map(|reading| {
            let (test, verdict) = (reading.gate.clone(), reading.verdict);
            Some(TestResult { test, verdict, difference: reading.difference? })
        });
        let line = Line { time: seconds(now), step: state.step + 1, tests: tests.collect() };
        if line.tests.is_empty() {
            return Ok(());
        }
        self.last = Some(now);
        files::append(&path(route_dir), &(serde_json::to_string(&line)? + "\n"))
    }
}

/// When a run began. Its name is that time.
pub(crate) fn began(state: &State) -> SystemTime {
    humantime::parse_rfc3339(&state.run).unwrap_or_else(|_| SystemTime::now())
}

/// Writes the report of a run that has ended, as JSON and as HTML, and returns the path of the HTML. If that fails,
/// prints the reason on stderr and returns `None`, since the run has ended anyway.
pub(crate) fn leave(
    nginx: &Nginx,
    state: &State,
    share: Share,
    prometheus: Option<&Prometheus>,
) -> Option<PathBuf> {
    let written = write(nginx, state, share, prometheus);
    written.inspect_err(|problem| eprintln!("carve: the report of {}: {problem:#}", state.run)).ok()
}

fn write(
    nginx: &Nginx,
    state: &State,
    share: Share,
    prometheus: Option<&Prometheus>,
) -> anyhow::Result<PathBuf> {
    let own = nginx.route_dir().join("reports");
    let folder = state.report.as_ref().unwrap_or(&own);
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let report = content(nginx, state, share, prometheus)?;
    let file = |kind: &str| folder.join(format!("{}-{}.{kind}", nginx.route, state.run));
    files::replace(&file("json"), &serde_json::to_string_pretty(&report)?)?;
    // Escapes `<`, so that no text in the JSON ends the script element around it.
    let text = serde_json::to_string(&report)?.replace('<', "\\u003c");
    files::replace(&file("html"), &TEMPLATE.replacen(PLACE, &format!("{text}</script>"), 1))?;
    if *folder == own {
        forget_old(&own);
    }
    Ok(file("html"))
}

fn content(
    nginx: &Nginx,
    state: &State,
    share_percent: Share,
    prometheus: Option<&Prometheus>,
) -> anyhow::Result<Value> {
    let dir = nginx.route_dir();
    let log = files::read_if_there(&dir.join("ramp.log"))?.unwrap_or_default();
    let events = log.lines().filter_map(|line| serde_json::from_str(line).ok());
    let mut events: Vec<Value> =
        events.filter(|event: &Value| event["run"] == *state.run).collect();
    for event in events.iter_mut().filter_map(Value::as_object_mut) {
        event.remove("run");
        event.remove("gates");
    }
    let readings = state.judgement.iter().flat_map(|judgement| &judgement.readings);
    let gates: Vec<Value> = readings
        .map(|one| json!({ "gate": one.gate, "verdict": one.verdict, "said": one.to_string() }))
        .collect();
    let (compared, mismatches, problem) = prometheus.map_or_else(Default::default, |prometheus| {
        compared(prometheus, &nginx.route, began(state))
    });
    let classes = prometheus.map(|it| classes(it, &nginx.route, began(state))).unwrap_or_default();
    Ok(json!({
        "route": nginx.route,
        "outcome": state.phase.as_str().replace('_', " "),
        "reason": state.reason,
        "share_percent": share_percent,
        "began": state.run,
        "ended": humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        "started_by": state.by.actor,
        "why": state.by.reason,
        "ended_by": ended_by(nginx, state),
        "steps": state.plan.steps,
        "events": events,
        "tests": tests(&dir)?,
        "gates": gates,
        "compared": compared,
        "mismatches": mismatches,
        "classes": classes,
        "problem": problem,
    }))
}

fn ended_by(nginx: &Nginx, state: &State) -> String {
    match state.phase {
        Phase::RolledBack => "its gates".to_owned(),
        Phase::Lost => nginx.by.actor.clone(),
        Phase::Stopped => {
            nginx.store.stop().ok().flatten().map(|stop| stop.actor).unwrap_or_default()
        }
        _ => state.asked.actor.clone(),
    }
}

/// Each test's differences over time.
fn tests(route_dir: &Path) -> anyhow::Result<Vec<Value>> {
    let mut all: Vec<(String, f64, Vec<Value>)> = Vec::new();
    for line in files::read_if_there(&path(route_dir))?.unwrap_or_default().lines() {
        // A kill may have cut off the last line.
        let Ok(Line { time, step, tests }) = serde_json::from_str(line) else { continue };
        for TestResult { test, verdict, difference } in tests {
            let Difference { lower, estimate, upper, limit } = difference;
            let point = json!({ "time": time, "step": step, "verdict": verdict, "estimate": estimate,
                                "lower": lower, "upper": upper });
            match all.iter_mut().find(|(name, ..)| *name == test) {
                Some((_, _, points)) => points.push(point),
                None => all.push((test, limit, vec![point])),
            }
        }
    }
    let test = |(test, limit, points)| json!({ "test": test, "limit": limit, "points": points });
    Ok(all.into_iter().map(test).collect())
}

type ByLabel = BTreeMap<String, f64>;

/// The shadow's comparisons since then, by result; its mismatches, by kind; and if Prometheus does not tell, why.
fn compared(prometheus: &Prometheus, route: &str, since: SystemTime) -> (ByLabel, ByLabel, String) {
    let seconds = since.elapsed().unwrap_or_default().as_secs().max(1);
    let count = |metric: &str, label: &str| {
        let query =
            format!("sum by ({label}) (increase({metric}{{route=\"{route}\"}}[{seconds}s]))");
        let all = prometheus.by_label(&query, label)?;
        Ok(all.into_iter().map(|(value, count)| (value, count.round())).collect::<ByLabel>())
    };
    let all = count("shadow_comparisons_total", "result");
    match all.and_then(|all| Ok((all, count("shadow_mismatches_total", "kind")?))) {
        Ok((all, kinds)) => (all, kinds, String::new()),
        Err::<_, crate::prometheus::NoNumber>(problem) => {
            (ByLabel::new(), ByLabel::new(), format!("Not known: {problem}"))
        }
    }
}

/// For each class of clients' answers since then: how many there were, how many of that class the shadow compared, and
/// how many differed, or what follows if none did: with 95 % certainty, fewer than 3 of as many (1 - 0.05^(1/n) < 3/n).
pub(crate) fn classes(prometheus: &Prometheus, route: &str, since: SystemTime) -> Vec<String> {
    let seconds = since.elapsed().unwrap_or_default().as_secs().max(1);
    let count = |metric: &str, labels: &str| {
        let counts = format!("increase({metric}{{route=\"{route}\"{labels}}}[{seconds}s])");
        prometheus.by_label(&format!("sum by (class) ({counts})"), "class").unwrap_or_default()
    };
    let compared = count("shadow_classes_total", "");
    let differed = count("shadow_classes_total", ",result=\"mismatch\"");
    let of = |counts: &ByLabel, class: &str| counts.get(class).copied().unwrap_or_default().round();
    let say = |(class, seen): (&String, &f64)| {
        let (all, differed) = (of(&compared, class), of(&differed, class));
        let then = match (all, differed) {
            (0.0, _) => "never compared".to_owned(),
            (_, 0.0) => format!(
                "{all:.0} compared, none differed, so below {:.2} % do",
                300.0 / all.max(3.0)
            ),
            _ => format!("{all:.0} compared, {differed:.0} differed"),
        };
        format!("{class}: {seen:.0} for clients; {then}")
    };
    count("edge_classes_total", "").iter().filter(|(_, seen)| **seen >= 0.5).map(say).collect()
}

/// Removes all but the newest reports. Their names have the route and then the time, so they sort by age.
fn forget_old(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    names.sort();
    let old = names.len().saturating_sub(2 * KEPT);
    for file in &names[..old] {
        let _ = fs::remove_file(file);
    }
}
