//! Reads the configuration, serves or compares, and maps the outcome to an exit code.

use std::process::ExitCode;

use anyhow::Context;
use service_kit::{Listeners, shutdown_signal, telemetry};
use shadow::config::{Arguments, Config, Task};
use shadow::{offline, run};

fn main() -> ExitCode {
    match service_kit::arguments::parse::<Arguments>().check() {
        Ok(Task::Serve(config)) => finish(serve(*config).map(|()| ExitCode::SUCCESS)),
        Ok(Task::Compare(options)) => finish(compare(&options)),
        Err(error) => {
            eprintln!("shadow: {error}");
            ExitCode::from(service_kit::arguments::USAGE)
        }
    }
}

fn finish(outcome: anyhow::Result<ExitCode>) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        eprintln!("shadow: {error:#}");
        ExitCode::FAILURE
    })
}

/// One thread asks and takes times; decoding has one of its own for each comparison under way.
fn runtime(concurrency: usize) -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        // One more, for the names of hosts.
        .max_blocking_threads(concurrency + 1)
        .enable_all()
        .build()
        .context("cannot start the runtime")
}

fn serve(config: Config) -> anyhow::Result<()> {
    runtime(config.concurrency())?.block_on(async {
        let addr = (config.addr, "SHADOW_ADDR");
        let admin_addr = (config.admin_addr, "SHADOW_ADMIN_ADDR");
        let listeners = Listeners::bind(addr, admin_addr).await?;
        telemetry::init("shadow", config.log_level)?;
        let (addr, admin_addr) = (listeners.addr()?, listeners.admin_addr()?);
        let shutdown = shutdown_signal()?;
        tracing::info!(%addr, %admin_addr, "listening");
        run(config, listeners, shutdown).await;
        Ok(())
    })
}

/// 0 where all match, 1 where something differs, 2 where there is nothing to compare.
fn compare(options: &offline::Options) -> anyhow::Result<ExitCode> {
    let texts = match options.read_texts() {
        Ok(texts) => texts,
        Err(error) => {
            eprintln!("shadow: {error:#}");
            return Ok(ExitCode::from(service_kit::arguments::USAGE));
        }
    };
    let report = runtime(1)?.block_on(offline::compare(options, &texts));
    report.print(options.json)?;
    Ok(if report.all_match() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
