//! What each part of nginx' configuration costs a request.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anstream::{eprintln, println};
use anyhow::{Context, ensure};
use clap::Parser;
use loadtest::server::Cores;
use loadtest::way::{Behind, Idle, Over, Place, Spent, Way, count, idle, of_both, time};
use loadtest::{exit_code, load, write, write_json};
use qr_bench::quartiles;
use serde::Serialize;
use stack::preflight::is_on_path;
use stack::settings::repository;

/// Counts what nginx spends on a request of /qrcode: the barest proxy, ours, ours without each part, and with
/// --rounds other proxies.
#[derive(Parser)]
#[command(name = "way")]
struct Arguments {
    /// Requests whose instructions are counted, for each row
    #[arg(long, default_value_t = 2000)]
    requests: usize,
    /// Rounds in which processor time is measured as well, which needs a quiet machine; 0 for none
    #[arg(long, default_value_t = 0)]
    rounds: usize,
    /// Seconds of load per row and round
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Concurrent connections of that load
    #[arg(long, default_value_t = 100)]
    connections: usize,
    /// Only the rows whose names contain one of these, separated by commas
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Instead, measure a cache in nginx, with such percentages of the requests repeating a text
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u8).range(..=100))]
    repeated: Vec<u8>,
    /// Instead, measure the memory of so many connections that wait for a next request; at most 2000, as nginx
    /// has it for an address
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=2000))]
    idle: Option<u16>,
    /// The folder proxy/ of another checkout; parts that it lacks are left out
    #[arg(long, value_name = "FOLDER")]
    proxy: Option<PathBuf>,
    /// The core of nginx and of qr-service behind it
    #[arg(long, default_value = "0")]
    server_core: Cores,
    /// The core of wrk, and of what answers as the shadow
    #[arg(long, default_value = "1")]
    load_core: Cores,
    /// Folder of the table
    #[arg(long, default_value = "target/way")]
    out: PathBuf,
}

/// A row of `way.json`.
#[derive(Serialize)]
struct Row {
    name: String,
    /// Not counted for other proxies.
    instructions: Option<u64>,
    /// The rest is measured with --rounds: quartiles over them.
    #[serde(flatten)]
    timed: Option<Timed>,
}

#[derive(Serialize)]
struct Timed {
    /// Microseconds of processor time.
    processor_us: [f64; 3],
    /// Those of qr-service behind it.
    behind_us: [f64; 3],
    /// Requests per second of both on the core.
    rate: [f64; 3],
    /// The rate as a share of the barest proxy's in the same round, over a port and over a Unix socket.
    of_barest: Option<[f64; 3]>,
    of_barest_unix: Option<[f64; 3]>,
}

fn main() -> ExitCode {
    exit_code("way", run(&service_kit::arguments::parse()).map(|()| ExitCode::SUCCESS))
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    ensure!(arguments.requests > 0, "--requests must be 1 or more");
    if arguments.rounds > 0 {
        load::check_installed(&["wrk"])?;
    }
    if !arguments.repeated.is_empty() {
        return measure_cache(arguments);
    }
    if let Some(connections) = arguments.idle {
        return measure_idle(arguments, connections.into());
    }
    let source = arguments.proxy.clone().unwrap_or_else(|| repository().join("proxy"));
    let place = Place::new(&source)?;
    let behind = Behind::start(&place, &arguments.server_core, &arguments.load_core)?;
    let only = &arguments.only;
    let wanted = |way: &Way| only.is_empty() || only.iter().any(|it| way.name().contains(it));
    let mut ways: Vec<Way> = Way::all().into_iter().filter(wanted).collect();
    ways.retain(|way| match way {
        Way::Instead(other) if arguments.rounds == 0 || !is_on_path(other.program()) => {
            if arguments.rounds > 0 {
                eprintln!("left out: {} is not installed", other.program());
            }
            false
        }
        _ => true,
    });
    ensure!(!ways.is_empty(), "--only {only:?}: no row has such a name");
    if arguments.proxy.is_some() {
        ways.retain(|way| match place.write(*way) {
            Ok(_) => true,
            Err(error) => {
                eprintln!("left out: {error:#}");
                false
            }
        });
    }
    let mut rows = Vec::new();
    for way in &ways {
        let instructions = match way {
            Way::Instead(_) => None,
            _ => Some(count(&place, *way, arguments.requests).with_context(|| way.name())?),
        };
        if let Some(instructions) = instructions {
            eprintln!("{:<40} {instructions:>8} instructions", way.name());
        }
        rows.push(Row { name: way.name(), instructions, timed: None });
    }
    measure_time(arguments, (&place, &behind), &ways, &mut rows)?;
    let table = table(&rows);
    write_json(&arguments.out.join("way.json"), &rows)?;
    write(&arguments.out.join("way.md"), &table)?;
    println!("{table}\n{}", arguments.out.join("way.md").display());
    Ok(())
}

fn measure_cache(arguments: &Arguments) -> anyhow::Result<()> {
    ensure!(arguments.rounds > 0, "--repeated needs --rounds");
    let cores = (&arguments.server_core, &arguments.load_core);
    let kinds = arguments.repeated.iter().flat_map(|&it| [(it, false), (it, true)]);
    let mut rows: Vec<_> = kinds.map(|kind| (kind, Vec::new())).collect();
    for round in 1..=arguments.rounds {
        for ((repeated, is_cached), times) in &mut rows {
            let (connections, seconds) = (arguments.connections, arguments.seconds);
            let time = 1e6 * of_both(*is_cached, *repeated, cores, connections, seconds)?;
            eprintln!("round {round}  {repeated:>3} % cache {is_cached:<5} {time:>6.2} µs");
            times.push(time);
        }
    }
    let mut text = String::from(
        "| requests that repeat a text | cache | processor time, µs (quartiles) |\n\
         | ---: | --- | ---: |\n",
    );
    for ((repeated, is_cached), times) in rows {
        let ([low, median, high], cache) = (quartiles(times), if is_cached { "on" } else { "off" });
        let _ = writeln!(text, "| {repeated} % | {cache} | {median:.1} ({low:.1} - {high:.1}) |");
    }
    write(&arguments.out.join("cache.md"), &text)?;
    println!("{text}\n{}", arguments.out.join("cache.md").display());
    Ok(())
}

fn measure_idle(arguments: &Arguments, connections: usize) -> anyhow::Result<()> {
    let mut text = String::from(
        "| memory (PSS) | a few connections, MB | each waiting connection, kB |\n| --- | ---: | ---: |\n",
    );
    for Idle { part, few, each } in idle(connections)? {
        let _ = writeln!(text, "| {} | {:.1} | {:.1} |", part.name(), few as f64 / 1e6, each / 1e3);
    }
    write(&arguments.out.join("idle.md"), &text)?;
    println!("{text}\n{}", arguments.out.join("idle.md").display());
    Ok(())
}

fn measure_time(
    arguments: &Arguments,
    (place, behind): (&Place, &Behind),
    ways: &[Way],
    rows: &mut [Row],
) -> anyhow::Result<()> {
    let cores = (&arguments.server_core, &arguments.load_core);
    let mut spent = vec![Vec::new(); ways.len()];
    for round in 1..=arguments.rounds {
        for (way, spent) in ways.iter().zip(&mut spent) {
            let now = time(place, behind, *way, cores, arguments.connections, arguments.seconds)?;
            eprintln!(
                "round {round}  {:<40} {:>6.2} µs, qr-service {:>6.2} µs, {:>8.0} requests/s",
                way.name(),
                1e6 * now.proxy,
                1e6 * now.behind,
                now.rate
            );
            spent.push(now);
        }
    }
    if arguments.rounds == 0 {
        return Ok(());
    }
    let barest = |over| {
        let at = ways.iter().position(|way| matches!(way, Way::Barest(it) if *it == over));
        at.map(|at| spent[at].clone())
    };
    let (tcp, unix) = (barest(Over::Tcp), barest(Over::Unix));
    for (row, spent) in rows.iter_mut().zip(&spent) {
        let all = |of: fn(&Spent) -> f64| quartiles(spent.iter().map(of).collect());
        let share = |barest: &Option<Vec<Spent>>| {
            let pairs = spent.iter().zip(barest.as_ref()?);
            Some(quartiles(pairs.map(|(ours, barest)| ours.rate / barest.rate).collect()))
        };
        row.timed = Some(Timed {
            processor_us: all(|it| 1e6 * it.proxy),
            behind_us: all(|it| 1e6 * it.behind),
            rate: all(|it| it.rate),
            of_barest: share(&tcp),
            of_barest_unix: share(&unix),
        });
    }
    Ok(())
}

fn table(rows: &[Row]) -> String {
    let of = |name: &str| rows.iter().find(|row| row.name == name);
    let mut text = String::from(
        "| nginx | instructions a request | beside ours | processor time, µs (quartiles) | qr-service's, µs | \
         requests/s of both on a core | of the barest's | of the barest's over a Unix socket |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for row in rows {
        let ours = of("ours").filter(|ours| ours.name != row.name);
        let counts = ours.and_then(|ours| row.instructions.zip(ours.instructions));
        let change = counts.map_or(String::new(), |(count, ours)| {
            format!("{:+.1} %", 100.0 * (count as f64 / ours as f64 - 1.0))
        });
        let count = row.instructions.map_or(String::new(), |count| count.to_string());
        let _ = write!(text, "| {} | {count} | {change} |", row.name);
        let Some(timed) = &row.timed else {
            text += "  |  |  |  |  |\n";
            continue;
        };
        let us = |[low, median, high]: [f64; 3]| format!("{median:.1} ({low:.1} - {high:.1})");
        let share = |of: Option<[f64; 3]>| {
            let percent = of.map(|of| of.map(|it| 100.0 * it));
            percent.map_or(String::new(), |[low, it, high]| {
                format!("{it:.0} % ({low:.0} - {high:.0})")
            })
        };
        let [low, median, high] = timed.rate;
        let _ = writeln!(
            text,
            " {} | {} | {median:.0} ({low:.0} - {high:.0}) | {} | {} |",
            us(timed.processor_us),
            us(timed.behind_us),
            share(timed.of_barest),
            share(timed.of_barest_unix)
        );
    }
    text
}
