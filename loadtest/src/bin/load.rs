//! `make load`: gives a route traffic, and the dashboards something to show.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anstream::println;
use anyhow::{Context, ensure};
use clap::Parser;
use clap::builder::RangedU64ValueParser;
use loadtest::load::{Load, check_installed, open};
use loadtest::server::Cores;
use loadtest::{exit_code, texts};
use service_kit::arguments::time;

/// Sends requests at a fixed rate, however long answers take: QR codes of distinct texts, or a file's
#[derive(Parser)]
#[command(name = "load")]
struct Arguments {
    /// Requests per second
    #[arg(long, default_value_t = 100, value_parser = RangedU64ValueParser::<u32>::new().range(1..), value_name = "COUNT")]
    rate: u32,
    /// Duration of the load: 30s, 5m, 1h
    #[arg(long, default_value = "60s", value_parser = time, value_name = "TIME")]
    duration: Duration,
    /// Paths with queries, one per line; sent in random order [default: QR codes]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Base URL of the proxy or of one side
    #[arg(long, default_value = "http://127.0.0.1:8080", value_name = "URL")]
    url: String,
    /// Concurrent connections
    #[arg(long, default_value_t = 50, value_name = "COUNT")]
    connections: usize,
}

fn main() -> ExitCode {
    let load = run(&service_kit::arguments::parse());
    let ended = load.map(|load| {
        println!("{}", summary(&load));
        if load.errors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    });
    exit_code("load", ended)
}

fn run(arguments: &Arguments) -> anyhow::Result<Load> {
    let Arguments { rate, duration, connections, .. } = *arguments;
    let url = arguments.url.trim_end_matches('/');
    ensure!(duration.as_secs() > 0, "--duration must be at least 1s");
    let requests = match &arguments.file {
        Some(file) => read(file)?,
        None => texts::targets(texts::QRCODE, &texts::mix()),
    };
    let first = requests.first().context("no request")?;
    let answer = ureq::get(format!("{url}{first}")).call();
    answer.with_context(|| format!("{url} does not serve {first} (make up starts the stack)"))?;
    check_installed(&["oha"])?;
    let targets = tempfile::NamedTempFile::new().context("no temporary file")?;
    texts::write_targets(targets.path(), url, &requests)?;
    println!("Sending {rate} requests per second to {url} for {duration:?}.");
    open(targets.path(), &Cores::all(), connections, rate.into(), duration.as_secs())
}

/// The requests in a file, as `make compare` reads them.
fn read(file: &Path) -> anyhow::Result<Vec<String>> {
    let shown = file.display();
    let text = fs::read_to_string(file).with_context(|| format!("--file {shown}"))?;
    let lines = text.lines().map(str::trim_end).enumerate();
    let said: Vec<(usize, &str)> =
        lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).collect();
    ensure!(!said.is_empty(), "--file {shown}: no request in it");
    let parse = |(number, line): (usize, &str)| {
        let problem = "must be a path and query such as /report?year=2026";
        ensure!(line.starts_with('/'), "--file {shown}: line {}: {line:?}: {problem}", number + 1);
        Ok(line.to_owned())
    };
    said.into_iter().map(parse).collect()
}

fn summary(load: &Load) -> String {
    format!(
        "{:.0} answers, {:.1} per second, {} errors; median {:.2} ms, p99 {:.2} ms; mean size {:.0} \
         bytes",
        load.requests,
        load.requests_per_second,
        load.errors,
        load.p50_seconds * 1e3,
        load.p99_seconds * 1e3,
        load.bytes_per_response
    )
}
