//! The signals that end a service.

use std::future::Future;

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};

/// Resolves at the first SIGTERM, SIGINT or SIGQUIT; a second one ends the process at once. Beside nginx, which
/// ends by SIGQUIT, a service may get that.
///
/// # Errors
/// If the signal handlers cannot be installed.
pub fn shutdown_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let mut quit = signal(SignalKind::quit()).context("cannot listen for SIGQUIT")?;
    let mut next = async move || {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = quit.recv() => {}
        }
    };
    let (first, received) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        next().await;
        // This fails if the service has already ended.
        let _ = first.send(());
        next().await;
        tracing::warn!("second signal: ending at once");
        std::process::exit(130);
    });
    Ok(async move {
        let _ = received.await;
    })
}
