//! Reads the configuration, binds, serves, and maps the outcome to an exit code.

use std::process::ExitCode;

use anyhow::Context;
use qr_service::config::{Arguments, Config};
use qr_service::{Listeners, run, telemetry};
use tokio::signal::unix::{SignalKind, signal};

fn main() -> ExitCode {
    let config = match arguments::parse::<Arguments>().check() {
        Ok(config) => config,
        Err(error) => {
            eprintln!("qr-service: {error}");
            return ExitCode::from(arguments::USAGE);
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
        let listeners = Listeners::bind(&config).await?;
        telemetry::init(config.log_level)?;
        let (addr, admin_addr) = (listeners.addr()?, listeners.admin_addr()?);
        let shutdown = shutdown_signal()?;
        tracing::info!(%addr, %admin_addr, engine = %config.engine, "listening");
        run(config, listeners, shutdown).await;
        Ok(())
    })
}

/// Resolves at the first SIGTERM or SIGINT; a second one ends the process at once.
fn shutdown_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let mut next = async move || {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    let (first, told) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        next().await;
        // Where nobody waits any more, the service has ended by itself.
        let _ = first.send(());
        next().await;
        tracing::warn!("second signal: ending at once");
        std::process::exit(130);
    });
    Ok(async move {
        let _ = told.await;
    })
}
