//! The rounds: in each, one row's server after the other runs alone under load.

use std::fs;
use std::time::{Duration, Instant};

use anstream::eprintln;
use anyhow::{Context, ensure};

use crate::client::{Flow, measure as send};
use crate::servers::check::check;
use crate::servers::plan::{Figures, Plan};
use crate::servers::rows::{Answers, Group, Row};
use crate::servers::sampling::{Sampler, cpu_seconds};
use crate::servers::server::Server;
use crate::servers::{nginx, relay, wrk};
use crate::texts;

/// The figures of all rounds.
#[derive(Debug, Default)]
pub struct Climbed {
    /// The rows with their rounds.
    pub rows: Vec<(&'static Row, Vec<Figures>)>,
    /// A line for each row that could not be started here.
    pub left_out: Vec<String>,
}

/// Measures rows in turn, round by round. A row that does not start is left out, unless `named` says that it was asked for
/// by its name.
///
/// The fixed rate that is the same for all rows is half of their baseline's capacity in its first round, so the
/// baseline comes before all rows but the static answer. Fails if a server answers wrongly or fails a request, or a
/// named one does not start.
pub fn climb(
    rows: &[&'static Row],
    plan: &Plan,
    named: impl Fn(&Row) -> bool,
) -> anyhow::Result<Climbed> {
    let mut climbed = Climbed::default();
    for &row in rows {
        // Fails before minutes are spent on other rows.
        match try_out(row, plan).with_context(|| row.name)? {
            Ok(()) => climbed.rows.push((row, Vec::new())),
            Err(error) if named(row) => return Err(error.context(row.name)),
            Err(error) => {
                let line = format!("{}: {error:#}", row.name);
                eprintln!("left out: {line}");
                climbed.left_out.push(line);
            }
        }
    }
    ensure!(!climbed.rows.is_empty(), "no row can be started here");
    let mut equal_rates = Figures::new();
    for round in 1..=plan.rounds {
        for (row, rounds) in &mut climbed.rows {
            let figures = measure(row, plan, &mut equal_rates)
                .with_context(|| format!("{}, round {round}", row.name))?;
            let first = plan.group.columns()[0];
            let value = figures.get(first.figures[0]).copied().unwrap_or(f64::NAN);
            let (value, title) = ((first.format)(value), first.title);
            eprintln!("round {round}/{}  {:<22} {value:>9} {title}", plan.rounds, row.name);
            rounds.push(figures);
        }
        add_ratios(&mut climbed, plan.group);
    }
    Ok(climbed)
}

/// Adds to the last round of each row its ratio to the baseline in the same round.
fn add_ratios(climbed: &mut Climbed, group: Group) {
    let first = group.columns()[0].figures[0];
    let last = |rounds: &[Figures]| rounds.last()?.get(first).copied();
    let values: Figures =
        climbed.rows.iter().filter_map(|(row, rounds)| Some((row.name, last(rounds)?))).collect();
    for (row, rounds) in &mut climbed.rows {
        let base = group.baseline(row).and_then(|base| values.get(base));
        let times = base.zip(values.get(row.name)).map(|(base, value)| value / base);
        if let (Some(last), Some(times)) = (rounds.last_mut(), times) {
            last.insert("times_baseline", times);
        }
    }
}

/// Starts a row's server and checks its answers. The inner error means that it does not start, the outer one that an
/// answer is wrong.
fn try_out(row: &Row, plan: &Plan) -> anyhow::Result<anyhow::Result<()>> {
    if plan.group == Group::Nginx {
        return Ok(Ok(()));
    }
    let server = match Server::start(row, &plan.server_cores) {
        Ok(server) => server,
        Err(error) => return Ok(Err(error)),
    };
    if plan.group != Group::Relay {
        check(&server, row, &texts::mix())?;
    }
    Ok(Ok(()))
}

fn measure(row: &Row, plan: &Plan, equal_rates: &mut Figures) -> anyhow::Result<Figures> {
    match plan.group {
        Group::Relay => relay::measure(row, plan),
        Group::Nginx => nginx::measure(row, plan),
        _ => measure_served(row, plan, equal_rates),
    }
}

fn measure_served(row: &Row, plan: &Plan, equal_rates: &mut Figures) -> anyhow::Result<Figures> {
    let server = Server::start(row, &plan.server_cores)?;
    // Servers of the floors get one request again and again, so that wrk can send more.
    let texts = match (plan.group, row.answers) {
        (Group::Floors, Answers::Pictures) => vec![texts::LINK.to_owned()],
        (Group::Floors, _) => vec![String::new()],
        _ => texts::mix(),
    };
    let targets = texts::targets(row.target, &texts);
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("targets");
    fs::write(&file, targets.join("\n") + "\n")?;
    let url = format!("{}{}", server.url, targets[0]);
    let several = (targets.len() > 1).then_some(file.as_path());
    wrk::load(plan, &url, several, plan.warm_up_seconds)?;

    let roots = server.roots()?;
    let sampler = Sampler::start(roots.clone());
    let (before, began) = (cpu_seconds(&roots), Instant::now());
    let closed = wrk::load(plan, &url, several, plan.closed_seconds)?;
    let (cpu, took) = (cpu_seconds(&roots) - before, began.elapsed().as_secs_f64());
    let rate = closed.requests / closed.seconds;
    let mut figures = Figures::from([
        ("requests_per_second", rate),
        ("cpu_seconds_per_request", cpu / closed.requests),
        ("busy", cpu / took / plan.server_cores.count() as f64),
        ("saturated_p50", closed.p50_us / 1e6),
        ("saturated_p99", closed.p99_us / 1e6),
    ]);
    if plan.group != Group::Floors {
        let base = plan.group.baseline(row);
        if base == Some(row.name) {
            equal_rates.entry(row.name).or_insert(rate / 2.0);
        }
        // The static answer comes before the baseline; its latency at the equal rate is not compared.
        let equal = base.and_then(|base| equal_rates.get(base)).copied().unwrap_or(100.0);
        for (names, rate) in [(EQUAL, equal), (OWN, 0.8 * rate)] {
            let targets = targets.clone();
            let target = move |number: u64| targets[number as usize % targets.len()].clone();
            let load = send(Flow {
                lasts: Duration::from_secs(plan.open_seconds),
                connections: plan.connections,
                ..Flow::new(server.addr, rate, target)
            })?;
            ensure!(load.errors.is_empty(), "failed at {rate:.0} a second: {:?}", load.errors);
            let [p50, p99, p999] = load.percentiles;
            let values = [rate, load.requests_per_second, p50, p99, p999];
            figures.extend(names.into_iter().zip(values));
        }
    }
    figures.insert("pss_bytes", sampler.finish() as f64);
    figures.insert("bytes_per_response", check(&server, row, &texts)?);
    figures.extend(row.article.map(|ratio| ("article", ratio)));
    Ok(figures)
}

const EQUAL: [&str; 5] = ["equal_asked", "equal_rate", "equal_p50", "equal_p99", "equal_p999"];
const OWN: [&str; 5] = ["own_asked", "own_rate", "own_p50", "own_p99", "own_p999"];
