//! What each part of nginx' configuration costs a request.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anstream::{eprintln, println};
use anyhow::{Context, ensure};
use clap::Parser;
use loadtest::report::wide;
use loadtest::server::Cores;
use loadtest::way::{
    Behind, Idle, Over, Place, Row, Timed, Way, count, idle, of_both, table, time,
};
use loadtest::{exit_code, load, write, write_json};
use qr_bench::quartiles;
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
        "| requests that repeat a text | cache | processor time, µs (quartiles) | runs |\n\
         | ---: | --- | ---: | ---: |\n",
    );
    for ((repeated, is_cached), times) in rows {
        let (runs, all, cache) =
            (times.len(), quartiles(times), if is_cached { "on" } else { "off" });
        let ([low, median, high], mark) = (all, if wide(all) { " ¹" } else { "" });
        let time = format!("{median:.1} ({low:.1} - {high:.1}){mark}");
        let _ = writeln!(text, "| {repeated} % | {cache} | {time} | {runs} |");
    }
    text += "\n¹ quartiles more than 10 % apart.\n";
    write(&arguments.out.join("cache.md"), &text)?;
    println!("{text}\n{}", arguments.out.join("cache.md").display());
    Ok(())
}

fn measure_idle(arguments: &Arguments, connections: usize) -> anyhow::Result<()> {
    let mut text = String::from(
        "| memory (PSS) | a few connections, MB | each waiting connection, kB |\n| --- | ---: | ---: |\n",
    );
    let parts = idle(connections)?;
    for Idle { part, few, each } in &parts {
        let _ = writeln!(text, "| {part} | {:.1} | {:.1} |", *few as f64 / 1e6, each / 1e3);
    }
    write_json(&arguments.out.join("idle.json"), &parts)?;
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
        at.map(|at| &spent[at][..])
    };
    let (tcp, unix) = (barest(Over::Tcp), barest(Over::Unix));
    for (row, spent) in rows.iter_mut().zip(&spent) {
        row.timed = Some(Timed::new(spent, tcp, unix));
    }
    Ok(())
}
