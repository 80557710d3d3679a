//! Reads the configuration, binds, serves, and maps the outcome to an exit code.

use std::process::ExitCode;

use anyhow::Context;
use service_kit::{Listeners, shutdown_signal, telemetry};

use crate::config::{Arguments, Config};
use crate::run;

/// The program: gives its exit code once it was told to end, or could not begin.
pub fn main() -> ExitCode {
    let config = match service_kit::arguments::parse::<Arguments>().check() {
        Ok(config) => config,
        Err(error) => {
            eprintln!("qr-service: {error}");
            return ExitCode::from(service_kit::arguments::USAGE);
        }
    };
    match serve(config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("qr-service: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn serve(config: Config) -> anyhow::Result<()> {
    // On one thread the plain scheduler does: nothing has to be woken or stolen across threads.
    let mut runtime = match config.worker_threads {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    runtime.worker_threads(config.worker_threads).enable_all();
    runtime.build().context("cannot start the runtime")?.block_on(async {
        let listeners =
            Listeners::bind((config.addr, "QR_ADDR"), (config.admin_addr, "QR_ADMIN_ADDR")).await?;
        telemetry::init("qr-service", config.log_level)?;
        let (addr, admin_addr) = (listeners.addr()?, listeners.admin_addr()?);
        let shutdown = shutdown_signal()?;
        tracing::info!(%addr, %admin_addr, engine = %config.engine, "listening");
        run(config, listeners, shutdown).await;
        Ok(())
    })
}
