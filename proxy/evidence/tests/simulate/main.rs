//! Simulates ramps of an invented route, request by request: how often the standard tests roll back equal sides, and how
//! soon they detect a worse one. `make simulate` checks and prints it.
//!
//! A ramp has four steps, at 5, 25, 50 and 75 %, of ten minutes each, or longer if a worse side lacks a proof. It is
//! judged every 5 s. [`upstream`] simulates nginx and edge. The shadow compares a tenth of the requests.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the tables")]

mod keys;
mod ramp;
mod tests;
mod upstream;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, ensure};
use evidence::Gates;
use evidence::interval::Assignment;
use ramp::{Behaviour, End, Ramp, Scenario};
use route::Route;

/// Requests per second.
const RATES: [f64; 3] = [5.0, 100.0, 400.0];
const ASSIGNED: [(Assignment, &str); 2] =
    [(Assignment::ByRequest, "by request"), (Assignment::ByKey, "by key")];
/// The largest share of a cell's ramps of equal sides that may be rolled back: alpha, with room for chance in a thousand
/// ramps.
const MOST_OF_EQUAL: f64 = 0.013;
/// The smallest share of a cell's ramps of a worse side that must be rolled back, from so many requests per second on.
const LEAST_OF_WORSE: f64 = 0.95;
const BUSY: f64 = 100.0;
/// The test on the sides' own counters, for scenarios with sessions.
const SESSIONS: &str = r#"
[gates.sessions]
counts = "own"
excess = 0.001
proof = 0.01
own.new = "-"
own.old = "-"
own.good = { end = "whole" }
own.lasts = "5m"
"#;

/// Ramps of equal sides.
fn equal() -> Vec<Scenario> {
    let both = |name, side| Scenario { name, new: side, old: side, ..Scenario::default() };
    let failing = |name, failing| both(name, Behaviour { failing, ..Behaviour::default() });
    let timing_out = |name, timeouts| both(name, Behaviour { timeouts, ..Behaviour::default() });
    let few = Behaviour { failing: 0.0005, ..Behaviour::default() };
    let (restarts, stalls, bursts) = (Some((600.0, 1.0)), Some((60.0, 0.3)), Some((600.0, 10.0)));
    let sessions = both("10 % of sessions break", Behaviour { broken: 0.1, ..few });
    vec![
        failing("0.05 % fail", 0.0005),
        failing("0.2 % fail", 0.002),
        failing("1 % fail", 0.01),
        timing_out("0.1 % time out", 0.001),
        timing_out("0.5 % time out", 0.005),
        timing_out("1 % time out", 0.01),
        both("restarts of a second, once in ten minutes each", Behaviour { restarts, ..few }),
        both("stalls of 300 ms, once a minute each", Behaviour { stalls, ..few }),
        Scenario { has_incident: true, ..both("an incident of both at each move", few) },
        both("0.2 % of keys fail", Behaviour { bad_keys: 0.002, ..few }),
        both("3 % of keys fail", Behaviour { bad_keys: 0.03, ..few }),
        both("bursts of slow answers, 10 s in ten minutes each", Behaviour { bursts, ..few }),
        Scenario { has_sessions: true, ..sessions },
    ]
}

/// Ramps of a worse new side.
fn worse() -> Vec<Scenario> {
    let old = Behaviour { failing: 0.0005, ..Behaviour::default() };
    let than = |name, new| Scenario { name, new, old, waits: true, ..Scenario::default() };
    let sessions = than("1 point more sessions break", Behaviour { broken: 0.11, ..old });
    vec![
        than("0.5 points more fail", Behaviour { failing: 0.0055, ..old }),
        than("an outage of 2 s a minute", Behaviour { restarts: Some((60.0, 2.0)), ..old }),
        than("5 % of answers slow", Behaviour { slow: 0.045, ..old }),
        than("all times doubled", Behaviour { slower: 1.0, ..old }),
        than("1 % of requests fail", Behaviour { failing: 0.01, ..old }),
        than("5 % of requests fail", Behaviour { failing: 0.05, ..old }),
        than("25 % of requests fail", Behaviour { failing: 0.25, ..old }),
        than("1 % of keys fail", Behaviour { bad_keys: 0.01, ..old }),
        than("5 % of keys fail", Behaviour { bad_keys: 0.05, ..old }),
        than("25 % of keys fail", Behaviour { bad_keys: 0.25, ..old }),
        than("all requests fail", Behaviour { failing: 1.0, ..old }),
        Scenario { has_sessions: true, old: Behaviour { broken: 0.1, ..old }, ..sessions },
    ]
}

/// Runs the ramps of a cell of the table on two threads, each ramp with a seed of its own.
fn simulate(gates: &Gates, cell: (Scenario, f64, Assignment), ramps: u64) -> Vec<End> {
    let (scenario, rate, assigned) = cell;
    let part = |seeds: std::ops::Range<u64>| -> Vec<End> {
        seeds.map(|seed| Ramp::new(scenario, rate, assigned, seed).run(gates)).collect()
    };
    std::thread::scope(|scope| {
        let second = scope.spawn(|| part(ramps / 2..ramps));
        let mut first = part(0..ramps / 2);
        first.extend(second.join().unwrap_or_default());
        first
    })
}

fn rolled_back(ends: &[End]) -> f64 {
    let count = ends.iter().filter(|end| matches!(end, End::RolledBack { .. })).count();
    count as f64 / ends.len() as f64
}

/// Whether a cell has what the documentation promises: equal sides stay, and a worse one goes back if it has traffic.
fn is_kept(ends: &[End], is_worse: bool, rate: f64) -> bool {
    match is_worse {
        true => rate < BUSY || rolled_back(ends) >= LEAST_OF_WORSE,
        false => rolled_back(ends) <= MOST_OF_EQUAL,
    }
}

/// The share of ramps that were rolled back. For a worse side also the share that waits, the time to the rollback, and
/// the number of requests hurt.
fn told(ends: &[End], is_worse: bool) -> String {
    let percent = |count: usize| 100.0 * count as f64 / ends.len() as f64;
    let rolled_back = |end: &End| match end {
        End::RolledBack { minutes, hurt, .. } => Some((*minutes, *hurt)),
        End::Done | End::Waiting => None,
    };
    let (mut minutes, mut hurt): (Vec<f64>, Vec<f64>) = ends.iter().filter_map(rolled_back).unzip();
    let mut text = format!("{:.1} %", percent(minutes.len()));
    if !is_worse {
        return text;
    }
    minutes.sort_unstable_by(f64::total_cmp);
    hurt.sort_unstable_by(f64::total_cmp);
    let waiting = ends.iter().filter(|end| matches!(end, End::Waiting)).count();
    if waiting > 0 {
        let _ = write!(text, " ({:.0} % wait)", percent(waiting));
    }
    let at = |sorted: &[f64], hundredths: usize| match sorted.len() {
        0 => f64::NAN,
        count => sorted[(count - 1) * hundredths / 100],
    };
    let (median, late) = (at(&minutes, 50), at(&minutes, 90));
    let _ = write!(text, ", {median:.0} / {late:.0} min, {:.0}", at(&hurt, 50));
    text
}

/// The standard gates, and those with the test on sessions.
fn gates(scenario: Scenario) -> anyhow::Result<Gates> {
    let sessions = if scenario.has_sessions { SESSIONS } else { "" };
    Gates::of(&Route::parse("simulated", &format!("path = \"/\"\n{sessions}"))?)
}

/// Prints the tables with as many ramps a cell as the variable RAMPS says, only of rows whose name contains ROWS. Does
/// nothing without RAMPS. Fails if a cell is not as promised.
#[test]
fn tables() -> anyhow::Result<()> {
    let Ok(ramps) = std::env::var("RAMPS") else { return Ok(()) };
    let ramps = ramps.parse().context("RAMPS: how many ramps?")?;
    let only = std::env::var("ROWS").unwrap_or_default();
    let mut broken = Vec::new();
    for (scenarios, is_worse) in [(equal(), false), (worse(), true)] {
        let title = if is_worse {
            "the new side is worse: rolled back, median / p90, hurt"
        } else {
            "equal sides: rolled back"
        };
        let columns =
            ASSIGNED.iter().flat_map(|(_, name)| RATES.map(|rate| format!("{name}, {rate}/s")));
        println!("| {title} | {} |", columns.collect::<Vec<_>>().join(" | "));
        println!("| --- |{}", " --- |".repeat(ASSIGNED.len() * RATES.len()));
        for scenario in scenarios.into_iter().filter(|it| it.name.contains(&only)) {
            let (mut row, mut tests) = (format!("| {} |", scenario.name), BTreeMap::new());
            let gates = gates(scenario)?;
            for (assigned, rate) in
                ASSIGNED.iter().flat_map(|(of, _)| RATES.map(|rate| (*of, rate)))
            {
                let ends = simulate(&gates, (scenario, rate, assigned), ramps);
                let text = told(&ends, is_worse);
                if !is_kept(&ends, is_worse, rate) {
                    broken.push(format!("{}, {assigned:?}, {rate}/s: {text}", scenario.name));
                }
                let _ = write!(row, " {text} |");
                for end in ends {
                    if let End::RolledBack { test, .. } = end {
                        *tests.entry(test).or_insert(0) += 1;
                    }
                }
            }
            println!("{row}");
            eprintln!("{}: {tests:?}", scenario.name);
        }
        println!();
    }
    ensure!(broken.is_empty(), "not as promised: {}", broken.join("; "));
    Ok(())
}
