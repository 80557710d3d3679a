//! Requests per second on one core: a static answer of a plain axum router, qr-service with `/qrcode` and with
//! `/v1/qr`, qr-service with the published article's function, legacy-node, and a server as QuickChart's.
//!
//! The servers share one core and take turns; wrk has another core. Texts are distinct links of 53
//! bytes, pictures are decoded before and after, and errors are counted.

use std::path::PathBuf;
use std::process::ExitCode;

use anstream::println;
use anyhow::{Context, ensure};
use clap::Parser;
use loadtest::load::{Load, closed};
use loadtest::report::wide;
use loadtest::rows::{CEILING, ROWS, Row, WITH_OPTIONS};
use loadtest::server::{Cores, Server};
use loadtest::{check, exit_code, load, texts, write_json};
use qr_bench::quartiles;
use serde::Serialize;

/// Measures requests per second on one core, relative to a static answer.
#[derive(Parser)]
#[command(name = "http")]
struct Arguments {
    /// Rounds over all servers
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Seconds of load per server and round
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Concurrent connections
    #[arg(long, default_value_t = 100)]
    connections: usize,
    /// The core of the servers
    #[arg(long, default_value = "0")]
    server_core: Cores,
    /// The core of wrk
    #[arg(long, default_value = "1")]
    load_core: Cores,
    /// File of the figures
    #[arg(long, default_value = "target/bench/http.json")]
    out: PathBuf,
}

const NAMES: [&str; 6] = [CEILING, "qr-service", "v1-qr", "axum-article", "node", "quickchart"];

/// A row of `http.json`: medians over the rounds; spreads are quartiles.
#[derive(Serialize)]
struct Figures {
    name: &'static str,
    /// How often it ran.
    runs: usize,
    requests_per_second: f64,
    spread: [f64; 2],
    /// Requests per second relative to the static answer, round by round.
    share_of_static: f64,
    share_spread: [f64; 2],
    /// The same relative to qr-service's `/qrcode`.
    share_of_qrcode: f64,
    share_of_qrcode_spread: [f64; 2],
    /// Bytes of whole responses, heads included.
    bytes_per_response: f64,
    p50_seconds: f64,
    p99_seconds: f64,
    errors: u64,
}

fn main() -> ExitCode {
    exit_code("http", run(&service_kit::arguments::parse()).map(|()| ExitCode::SUCCESS))
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let one_core = arguments.server_core.overlaps(&arguments.load_core);
    ensure!(!one_core, "--server-core and --load-core must differ");
    load::check_installed(&["wrk"])?;
    let links = texts::links();
    let rows = NAMES.map(|name| ROWS.iter().chain(&WITH_OPTIONS).find(|row| row.name == name));
    let rows: Vec<&Row> = rows.into_iter().flatten().collect();
    let folder = tempfile::tempdir()?;
    let mut servers = Vec::new();
    for row in &rows {
        let server = Server::start(row, &arguments.server_core)?;
        let targets = folder.path().join(row.name);
        texts::write_targets(&targets, &server.url, &texts::targets(row.target, &links))?;
        servers.push((server, targets));
    }
    let turn = |(server, targets): &(Server, PathBuf)| {
        let Arguments { connections, seconds, .. } = *arguments;
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
    let figures: Vec<Figures> = rows
        .iter()
        .zip(&turns)
        .map(|(row, mine)| figures(row.name, mine, [&turns[0], &turns[1]]))
        .collect();
    print_table(&figures);
    write_json(&arguments.out, &figures)?;
    println!("\n{}", arguments.out.display());
    Ok(())
}

/// `bases` are the turns of the first two of [`NAMES`].
fn figures(name: &'static str, turns: &[Load], bases: [&[Load]; 2]) -> Figures {
    let over = |value: fn(&Load) -> f64| quartiles(turns.iter().map(value).collect());
    let rates = over(|turn| turn.requests_per_second);
    let share = |(mine, base): (&Load, &Load)| mine.requests_per_second / base.requests_per_second;
    let [shares, of_qrcode] =
        bases.map(|base| quartiles(turns.iter().zip(base).map(share).collect()));
    Figures {
        name,
        runs: turns.len(),
        requests_per_second: rates[1],
        spread: [rates[0], rates[2]],
        share_of_static: shares[1],
        share_spread: [shares[0], shares[2]],
        share_of_qrcode: of_qrcode[1],
        share_of_qrcode_spread: [of_qrcode[0], of_qrcode[2]],
        bytes_per_response: over(|turn| turn.bytes_per_response)[1],
        p50_seconds: over(|turn| turn.p50_seconds)[1],
        p99_seconds: over(|turn| turn.p99_seconds)[1],
        errors: turns.iter().map(|turn| turn.errors).sum(),
    }
}

fn print_table(figures: &[Figures]) {
    println!("one core, distinct links of 53 bytes; medians of the rounds (quartiles)");
    println!("* quartiles more than 10 % apart\n");
    println!(
        "{:<14} {:>10} {:>22} {:>26} {:>25} {:>6} {:>9} {:>9} {:>7} {:>5}",
        "",
        "requests/s",
        "",
        "of the static answer",
        "of /qrcode",
        "bytes",
        "p50 µs",
        "p99 µs",
        "errors",
        "runs"
    );
    let mark = |median, [low, high]: [f64; 2]| if wide([low, median, high]) { '*' } else { ' ' };
    for row in figures {
        println!(
            "{:<14} {:>10.0}  ({:>8.0} - {:>8.0}){} {:>8.1} % ({:>4.1} - {:>5.1}){} {:>7.2} % ({:>5.2} - {:>5.2}){} {:>6.0} {:>9.0} {:>9.0} {:>7} {:>5}",
            row.name,
            row.requests_per_second,
            row.spread[0],
            row.spread[1],
            mark(row.requests_per_second, row.spread),
            100.0 * row.share_of_static,
            100.0 * row.share_spread[0],
            100.0 * row.share_spread[1],
            mark(row.share_of_static, row.share_spread),
            100.0 * row.share_of_qrcode,
            100.0 * row.share_of_qrcode_spread[0],
            100.0 * row.share_of_qrcode_spread[1],
            mark(row.share_of_qrcode, row.share_of_qrcode_spread),
            row.bytes_per_response,
            1e6 * row.p50_seconds,
            1e6 * row.p99_seconds,
            row.errors,
            row.runs,
        );
    }
}
