//! `/qrcode` over HTTP beside a static answer of a plain axum router, the published article's
//! function in the same service, and the legacy app: requests a second on one core.
//!
//! Servers share a core and have their turns one after the other; wrk has another core. Texts are
//! distinct links of 53 bytes, pictures are decoded before and after, and errors are counted.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::Parser;
use loadtest::load::{Load, closed};
use loadtest::rows::{CEILING, ROWS, Row};
use loadtest::server::{Cores, Server};
use loadtest::{check, texts};
use qr_bench::quartiles;
use serde::Serialize;

/// Measures requests a second on one core, beside a static answer.
#[derive(Parser)]
#[command(name = "http")]
struct Arguments {
    /// Rounds; every server has its turn in each
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Seconds of a turn
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Connections at once
    #[arg(long, default_value_t = 100)]
    connections: usize,
    /// The core of the servers
    #[arg(long, default_value = "0")]
    server_core: Cores,
    /// The core of wrk
    #[arg(long, default_value = "1")]
    load_core: Cores,
    /// Where the figures go
    #[arg(long, default_value = "target/bench/http.json")]
    out: PathBuf,
}

const NAMES: [&str; 4] = [CEILING, "qr-service", "axum-article", "node"];

/// One figure of `http.json`: medians over the rounds, spreads are quartiles.
#[derive(Serialize)]
struct Figures {
    name: &'static str,
    requests_per_second: f64,
    spread: [f64; 2],
    /// Of the static answer's, round by round.
    share_of_static: f64,
    share_spread: [f64; 2],
    /// Heads included.
    bytes_per_response: f64,
    p50_seconds: f64,
    p99_seconds: f64,
    errors: u64,
}

fn main() -> anyhow::Result<()> {
    let arguments: Arguments = service_kit::arguments::parse();
    ensure!(!arguments.server_core.overlaps(&arguments.load_core), "they need a core each");
    let links = texts::links();
    let rows = NAMES.map(|name| ROWS.iter().find(|row| row.name == name));
    let rows: Vec<&Row> = rows.into_iter().flatten().collect();
    let folder = tempfile::tempdir()?;
    let mut servers = Vec::new();
    for row in &rows {
        let server = Server::start(row, &arguments.server_core)?;
        let targets = folder.path().join(row.name);
        texts::write_targets(&targets, &server.url, &links)?;
        servers.push((server, targets));
    }
    let turn = |(server, targets): &(Server, PathBuf)| {
        let Arguments { connections, seconds, .. } = arguments;
        closed(targets, &server.url, &arguments.load_core, connections, seconds)
    };
    let check = || {
        let mut real = rows.iter().zip(&servers).filter(|(row, _)| row.name != CEILING);
        real.try_for_each(|(row, (server, _))| {
            check::decodes(server, &links, 40).map(drop).context(row.name)
        })
    };
    check()?;
    servers.iter().try_for_each(|server| turn(server).map(drop))?; // warm-up
    let mut turns = vec![Vec::new(); servers.len()];
    for _ in 0..arguments.rounds {
        for (server, turns) in servers.iter().zip(&mut turns) {
            turns.push(turn(server)?);
        }
    }
    check()?;
    let figures: Vec<Figures> =
        rows.iter().zip(&turns).map(|(row, mine)| figures(row.name, mine, &turns[0])).collect();
    print_table(&figures);
    if let Some(folder) = arguments.out.parent() {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    fs::write(&arguments.out, serde_json::to_string_pretty(&figures)? + "\n")
        .with_context(|| arguments.out.display().to_string())?;
    println!("\n{}", arguments.out.display());
    Ok(())
}

fn figures(name: &'static str, turns: &[Load], of_static: &[Load]) -> Figures {
    let over = |value: fn(&Load) -> f64| quartiles(turns.iter().map(value).collect());
    let rates = over(|turn| turn.requests_per_second);
    let share = |(mine, base): (&Load, &Load)| mine.requests_per_second / base.requests_per_second;
    let shares = quartiles(turns.iter().zip(of_static).map(share).collect());
    Figures {
        name,
        requests_per_second: rates[1],
        spread: [rates[0], rates[2]],
        share_of_static: shares[1],
        share_spread: [shares[0], shares[2]],
        bytes_per_response: over(|turn| turn.bytes_per_response)[1],
        p50_seconds: over(|turn| turn.p50_seconds)[1],
        p99_seconds: over(|turn| turn.p99_seconds)[1],
        errors: turns.iter().map(|turn| turn.errors).sum(),
    }
}

fn print_table(figures: &[Figures]) {
    println!("one core, distinct links of 53 bytes; medians of the rounds (quartiles)\n");
    println!(
        "{:<14} {:>10} {:>21} {:>25} {:>6} {:>9} {:>9} {:>7}",
        "", "requests/s", "", "of the static answer", "bytes", "p50 µs", "p99 µs", "errors"
    );
    for row in figures {
        println!(
            "{:<14} {:>10.0}  ({:>8.0} - {:>8.0}) {:>8.1} % ({:>4.1} - {:>5.1}) {:>6.0} {:>9.0} {:>9.0} {:>7}",
            row.name,
            row.requests_per_second,
            row.spread[0],
            row.spread[1],
            100.0 * row.share_of_static,
            100.0 * row.share_spread[0],
            100.0 * row.share_spread[1],
            row.bytes_per_response,
            1e6 * row.p50_seconds,
            1e6 * row.p99_seconds,
            row.errors,
        );
    }
}
