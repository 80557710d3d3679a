//! `make load`: gives a route traffic, and the dashboards something to show.

use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anstream::println;
use anyhow::{Context, bail, ensure};
use clap::Parser;
use clap::builder::RangedU64ValueParser;
use loadtest::client::{Flow, Load, measure};
use loadtest::texts;
use service_kit::arguments::{exit_code, time};

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
    #[arg(long, default_value_t = 50, value_parser = RangedU64ValueParser::<u32>::new().range(1..), value_name = "COUNT")]
    connections: u32,
}

fn main() -> ExitCode {
    let load = run(&service_kit::arguments::parse());
    let ended = load.map(|load| {
        println!("{}", summary(&load));
        if load.errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    });
    exit_code("load", ended, 1)
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
    let server = address(url)?;
    let path = first.clone();
    let once = measure(Flow { most: 1, ..Flow::new(server, 1.0, move |_| path.clone()) })?;
    if let Some(why) = once.errors.keys().next() {
        bail!("{url} does not serve {first}: {why} (make up starts the stack)");
    }
    println!("Sending {rate} requests per second to {url} for {duration:?}.");
    let is_random = arguments.file.is_some();
    let target = move |number: u64| {
        let at = if is_random { fastrand::usize(..) } else { number as usize };
        requests[at % requests.len()].clone()
    };
    let flow = Flow::new(server, rate.into(), target);
    measure(Flow { lasts: duration, connections: connections as usize, ..flow })
}

/// The address in a base URL.
fn address(url: &str) -> anyhow::Result<SocketAddr> {
    let problem = || format!("--url {url:?}: must be such as http://127.0.0.1:8080");
    let host = url.strip_prefix("http://").filter(|host| !host.contains('/'));
    let host = host.with_context(problem)?;
    let with_port = if host.contains(':') { host.to_owned() } else { format!("{host}:80") };
    let mut addresses = with_port.to_socket_addrs().with_context(problem)?;
    addresses.next().with_context(problem)
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
    let listed = |counts: &BTreeMap<String, u64>, before: &str| {
        let each: Vec<String> =
            counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
        if each.is_empty() { String::new() } else { format!("{before}{}", each.join(", ")) }
    };
    let [p50, p99, _] = load.percentiles.map(|seconds| seconds * 1e3);
    format!(
        "{} answers, {:.1} per second, {} errors{}; median {p50:.2} ms, p99 {p99:.2} ms{}",
        load.requests,
        load.requests_per_second,
        load.errors.values().sum::<u64>(),
        listed(&load.errors, ": "),
        listed(&load.served_by, "; served by "),
    )
}
