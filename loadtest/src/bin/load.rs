//! `make load`: something for the dashboards to show.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Parser;
use clap::builder::RangedU64ValueParser;
use loadtest::load::{Load, open};
use loadtest::server::Cores;
use loadtest::texts;
use service_kit::arguments::time;

/// Asks for QR codes of texts that differ, at a fixed rate, whatever the answers take.
#[derive(Parser)]
#[command(name = "load")]
struct Arguments {
    /// Requests a second
    #[arg(long, default_value_t = 100, value_parser = RangedU64ValueParser::<u32>::new().range(1..), value_name = "COUNT")]
    rate: u32,
    /// For how long: 30s, 5m, 1h
    #[arg(long, default_value = "60s", value_parser = time, value_name = "TIME")]
    duration: Duration,
    /// Who is asked: the proxy, or one implementation
    #[arg(long, default_value = "http://127.0.0.1:8080", value_name = "URL")]
    url: String,
    /// Connections at once
    #[arg(long, default_value_t = 50, value_name = "COUNT")]
    connections: usize,
}

fn main() -> ExitCode {
    match run(&service_kit::arguments::parse()) {
        Ok(load) => {
            println!("{}", summary(&load));
            if load.errors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("load: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<Load> {
    let Arguments { rate, duration, connections, .. } = *arguments;
    let url = arguments.url.trim_end_matches('/');
    ensure!(duration.as_secs() > 0, "--duration must be a second at least");
    let first = ureq::get(format!("{url}{}", texts::target("a"))).call();
    first.with_context(|| format!("{url} does not serve /qrcode (make up starts the stack)"))?;
    let targets = tempfile::NamedTempFile::new().context("no temporary file")?;
    texts::write_targets(targets.path(), url, &texts::mix())?;
    println!("Asking {url} {rate} times a second for {duration:?}.");
    open(targets.path(), &Cores::all(), connections, rate.into(), duration.as_secs())
}

fn summary(load: &Load) -> String {
    format!(
        "{:.0} answers, {:.1} a second, {} errors; half within {:.2} ms, 99% within {:.2} ms; \
         {:.0} bytes each",
        load.requests,
        load.requests_per_second,
        load.errors,
        load.p50_seconds * 1e3,
        load.p99_seconds * 1e3,
        load.bytes_per_response
    )
}
