//! `make load`: gives the dashboards something to show.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Parser;
use clap::builder::RangedU64ValueParser;
use loadtest::load::{Load, check_installed, open};
use loadtest::server::Cores;
use loadtest::{exit_code, texts};
use service_kit::arguments::time;

/// Requests QR codes of distinct texts at a fixed rate, however long answers take.
#[derive(Parser)]
#[command(name = "load")]
struct Arguments {
    /// Requests per second
    #[arg(long, default_value_t = 100, value_parser = RangedU64ValueParser::<u32>::new().range(1..), value_name = "COUNT")]
    rate: u32,
    /// Duration of the load: 30s, 5m, 1h
    #[arg(long, default_value = "60s", value_parser = time, value_name = "TIME")]
    duration: Duration,
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
    let first = ureq::get(format!("{url}{}", texts::target("a"))).call();
    first.with_context(|| format!("{url} does not serve /qrcode (make up starts the stack)"))?;
    check_installed(&["oha"])?;
    let targets = tempfile::NamedTempFile::new().context("no temporary file")?;
    texts::write_targets(targets.path(), url, &texts::mix())?;
    println!("Sending {rate} requests per second to {url} for {duration:?}.");
    open(targets.path(), &Cores::all(), connections, rate.into(), duration.as_secs())
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
