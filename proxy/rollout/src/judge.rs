//! Judges a step: the value, limit and verdict of each gate.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::prometheus::{NoNumber, Prometheus, seconds};
use crate::samples::Sampler;
use crate::split::Split;
use anyhow::{Context, ensure};
use evidence::gates::{Consequence, Gate, Gates, Limit, RollbackTiming, Test, Window};
use evidence::interval::{Assignment, Interval};
use evidence::plan::Pace;
use evidence::trial::Trial;
use evidence::{Judgement, Reading, Verdict};
use route::{Counters, Route};

use crate::files;

/// Has samples for as long as Prometheus scrapes the edge.
const EDGE: &str = "up{job=\"edge\"}";

/// The gates of a route: those of `file`, or else the route's own. Fails if the file cannot be read or a gate is
/// invalid; the error names the file, the line or the gate, and the problem.
pub fn gates(file: Option<&Path>, route: &Route) -> anyhow::Result<Gates> {
    let Some(file) = file else { return Gates::of(route) };
    Gates::of_text(&files::read(file)?, route).with_context(|| file.display().to_string())
}

/// Adds the new intervals to the trial and reads each test. Without counts, every reading has the problem instead.
pub(crate) fn readings(
    trial: &mut Trial,
    gates: &Gates,
    split: &Split,
    counted: Result<Vec<Interval>, NoNumber>,
) -> Vec<Reading> {
    match counted {
        Ok(intervals) => {
            let assigned = Assignment::from(&split.key);
            let share = f64::from(split.share_percent);
            for interval in intervals {
                trial.add(&Interval { share, ..interval }, gates, assigned);
            }
            trial.reach(seconds(SystemTime::now()), gates);
            trial.readings(gates)
        }
        Err(problem) => {
            let without = |test: &Test| Reading::without(&test.name, problem.to_string());
            gates.tests.iter().map(without).collect()
        }
    }
}

/// Judges the last `past` as if it were a step that ends now.
pub fn judge_past(
    gates: &Gates,
    prometheus: &Prometheus,
    route: &str,
    split: &Split,
    past: Duration,
) -> Judgement {
    let judgement = judge(gates, prometheus, past, true);
    let counted = Sampler::new(route, gates).past(prometheus, past + gates.overlap);
    judgement.with(readings(&mut Trial::new(gates, 1), gates, split, counted))
}

/// The intervals that Prometheus counted between two times, as a run would have received them. Fails if Prometheus does
/// not answer.
pub fn counted(
    gates: &Gates,
    prometheus: &Prometheus,
    route: &str,
    between: (SystemTime, SystemTime),
) -> anyhow::Result<Vec<Interval>> {
    let (from, to) = (seconds(between.0), seconds(between.1));
    Ok(Sampler::new(route, gates).between(prometheus, route, from, to)?)
}

/// The traffic of a route in the last `past`. Fails if Prometheus did not scrape the edge, or the gateway, in this time,
/// or does not answer.
pub fn pace(
    gates: &Gates,
    prometheus: &Prometheus,
    route: &str,
    split: &Split,
    past: Duration,
) -> anyhow::Result<Pace> {
    let reach = past.as_millis();
    let number = |query: &str| match prometheus.number(query) {
        Err(NoNumber::NoData(_)) => Ok(0.0),
        outcome => outcome,
    };
    // If Prometheus has scraped for a shorter time, the rates are over that time.
    let scraper = match &gates.counters {
        Some(Counters { new, old, .. }) => format!("({new} or {old})"),
        None => EDGE.to_owned(),
    };
    let seconds = scraped(prometheus, &scraper, past)?.as_secs_f64();
    let count = |metric: &str, labels: &str| {
        number(&format!("sum(increase({metric}{{route=\"{route}\"{labels}}}[{reach}ms]))"))
    };
    let (requests, of_old, failed) = match &gates.counters {
        None => {
            let requests = "edge_requests_total";
            let failed = count(requests, ",arm=\"old\",code=\"5xx\"")?
                + count(requests, ",arm=\"old\",side=\"rescue\",code!=\"5xx\"")?;
            let all = count(requests, ",arm=~\"new|old\"")?;
            (all, count(requests, ",arm=\"old\"")?, failed)
        }
        Some(Counters { new, old, status }) => {
            let query = format!("sum by ({status}) (increase({old}[{reach}ms]))");
            let by_status = prometheus.by_label(&query, status)?;
            let of_old: f64 = by_status.values().sum();
            let failed = by_status.iter().filter(|(status, _)| status.starts_with('5'));
            let of_new = number(&format!("sum(increase({new}[{reach}ms]))"))?;
            (of_new + of_old, of_old, failed.map(|(_, count)| count).sum())
        }
    };
    Ok(Pace {
        requests: requests / seconds,
        failures: if of_old > 0.0 { failed / of_old } else { 0.0 },
        pairs: count("shadow_pairs_total", "")? / seconds,
        compared: count("shadow_comparisons_total", ",result=~\"match|mismatch\"")? / seconds,
        assigned: Assignment::from(&split.key),
    })
}

/// For how much of the last `past` Prometheus has samples of `selector`. Fails if it has none, or does not answer.
fn scraped(prometheus: &Prometheus, selector: &str, past: Duration) -> anyhow::Result<Duration> {
    let (reach, every) = (past.as_millis(), (past.as_millis() / 200).max(1));
    let times = format!("timestamp({selector})[{reach}ms:{every}ms]");
    let seconds = match prometheus.number(&format!("time() - min(min_over_time({times}))")) {
        // None of the points has data, so it can only be from after the last one.
        Err(NoNumber::NoData(_)) if every > 1 => {
            return scraped(prometheus, selector, Duration::from_millis(every as u64));
        }
        Err(NoNumber::NoData(_)) => 0.0,
        outcome => outcome?,
    };
    ensure!(
        seconds > 0.0,
        "Prometheus at {} did not scrape {selector} in this time",
        prometheus.url
    );
    // A step of the query may be missing at its beginning.
    let is_all = seconds >= past.as_secs_f64() - 2.0 * every as f64 / 1000.0;
    Ok(if is_all { past } else { Duration::from_secs_f64(seconds) })
}

/// Counts by a name.
pub type ByName = BTreeMap<String, f64>;

/// The clients' requests of a route in the last `past`, or for how long Prometheus knows them: by arm and side, such as
/// `new/fallback`; and those of other methods and spellings.
pub fn ways(
    prometheus: &Prometheus,
    route: &str,
    past: Duration,
) -> anyhow::Result<(Duration, ByName, ByName)> {
    let reach = past.as_millis();
    // A series may have begun within this time, with its first count.
    let count = |metric: &str| {
        let all = format!("{metric}{{route=\"{route}\"}}");
        format!(
            "(increase({all}[{reach}ms]) and {all} offset {reach}ms or last_over_time({all}[{reach}ms]))"
        )
    };
    let requests = count("edge_requests_total");
    let query = format!("sum by (way) (label_join({requests}, \"way\", \"/\", \"arm\", \"side\"))");
    let ways = prometheus.by_label(&query, "way")?;
    let query = format!("sum by (spelling) ({})", count("edge_spellings_total"));
    let spellings = prometheus.by_label(&query, "spelling")?;
    Ok((scraped(prometheus, EDGE, past)?, ways, spellings))
}

/// The value and the limit of a gate.
pub(crate) type Figures = Result<(f64, f64), NoNumber>;

/// Asks Prometheus for every gate and judges the step. `step` is the time since the step began; `at_the_end` says
/// whether its time is over.
pub fn judge(
    gates: &Gates,
    prometheus: &Prometheus,
    step: Duration,
    at_the_end: bool,
) -> Judgement {
    let mut away: Option<NoNumber> = None;
    let mut figures: Vec<Figures> = Vec::with_capacity(gates.all.len());
    for gate in &gates.all {
        let asked = match &away {
            Some(away) => Err(away.clone()),
            None => ask(gate, prometheus, step + gates.overlap),
        };
        if let Err(problem @ NoNumber::Away(_)) = &asked {
            away = Some(problem.clone());
        }
        figures.push(asked);
    }
    let window = step + gates.overlap;
    let mut judgement = decide(&gates.all, &figures, window, at_the_end);
    for (gate, reading) in gates.all.iter().zip(&mut judgement.readings) {
        let query = gate.because.as_ref().filter(|_| reading.verdict == Verdict::Inconclusive);
        if let (Some(query), None) = (query, &away) {
            let why = prometheus.counts(&over(gate, query, window));
            let parts = [std::mem::take(&mut reading.detail), why];
            reading.detail =
                parts.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join("; ");
        }
    }
    judgement
}

/// A gate's query over its window.
fn over(gate: &Gate, query: &str, step_window: Duration) -> String {
    let window = match gate.window {
        Window::Step => step_window,
        Window::Fixed(window) => window,
    };
    query.replace("$window", &format!("{}ms", window.as_millis()))
}

/// Asks Prometheus for a gate's value and limit.
pub(crate) fn ask(gate: &Gate, prometheus: &Prometheus, step_window: Duration) -> Figures {
    let number = |query: &str| prometheus.number(&over(gate, query, step_window));
    let limit = match &gate.limit {
        Limit::Number(limit) => *limit,
        Limit::Query(query) => number(query)?,
    };
    Ok((number(&gate.query)?, limit + gate.margin))
}

/// For a gate that waits for a count: how much is missing, and how long that takes at the pace of the step so far.
/// Empty for other gates.
fn missing(gate: &Gate, (value, limit): (f64, f64), step: Duration) -> String {
    let counts = gate.otherwise == Consequence::Wait
        && gate.window == Window::Step
        && [">=", ">"].contains(&gate.compare.operator);
    if !counts || value <= 0.0 || (gate.compare.holds)(&value, &limit) {
        return String::new();
    }
    let more = (limit - value).ceil().max(1.0);
    let seconds = (more * step.as_secs_f64() / value).ceil().clamp(1.0, 3e9);
    let time = humantime::format_duration(Duration::from_secs_f64(seconds));
    format!("needs {more:.0} more, about {time}")
}

fn decide(gates: &[Gate], figures: &[Figures], step: Duration, at_the_end: bool) -> Judgement {
    let holds = |gate: &Gate, figures: &Figures| matches!(figures, Ok((value, limit)) if (gate.compare.holds)(value, limit));
    let both = || gates.iter().zip(figures);
    let enough = both()
        .all(|(gate, figures)| gate.otherwise == Consequence::RollBack || holds(gate, figures));
    let reading = |(gate, figures): (&Gate, &Figures)| {
        let may_fail = match gate.judge {
            RollbackTiming::AtOnce => true,
            RollbackTiming::WithEnough => enough,
            RollbackTiming::AtTheEnd => enough && at_the_end,
        };
        let verdict = match (figures, gate.otherwise) {
            _ if holds(gate, figures) => Verdict::Pass,
            (Ok(_), Consequence::RollBack) if may_fail => Verdict::Fail,
            _ => Verdict::Inconclusive,
        };
        let compare = gate.compare.operator.to_owned();
        match figures {
            Ok((value, limit)) => Reading {
                verdict,
                value: Some(*value),
                compare,
                limit: Some(*limit),
                detail: missing(gate, (*value, *limit), step),
                ..Reading::without(&gate.name, "")
            },
            Err(why) => {
                Reading { verdict, compare, ..Reading::without(&gate.name, why.to_string()) }
            }
        }
    };
    Judgement::of(both().map(reading).collect())
}
