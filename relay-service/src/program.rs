//! Reads the configuration, binds, serves, and maps the outcome to an exit code.

use std::process::ExitCode;
use std::sync::Arc;

use anstream::eprintln;
use anyhow::Context;
use axum::Router;
use axum::routing::get;
use http::HeaderMap;
use service_kit::{Admin, arguments, bind, serve_with, shutdown_signal, telemetry};
use tokio::runtime::Builder;
use tokio::time::timeout;

use crate::accept::Acceptor;
use crate::config::{Arguments, Config};
use crate::handler::Relay;

/// Runs the service until a signal ends it; returns the exit code.
pub fn run() -> ExitCode {
    let config = match arguments::parse::<Arguments>().check() {
        Ok(config) => config,
        Err(error) => {
            eprintln!("relay-service: {error}");
            return ExitCode::from(arguments::USAGE);
        }
    };
    let mut runtime = match config.worker_threads {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    runtime.worker_threads(config.worker_threads).enable_all();
    let runtime = runtime.build().context("cannot start the runtime");
    match runtime.and_then(|runtime| runtime.block_on(bind_and_serve(config))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("relay-service: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::async_yields_async, reason = "`serve_with` awaits the rest, within its bound")]
async fn bind_and_serve(config: Config) -> anyhow::Result<()> {
    let public = bind((config.addr, "RELAY_ADDR")).await?;
    let admin_listener = bind((config.admin_addr, "RELAY_ADMIN_ADDR")).await?;
    let _logging = telemetry::init("relay-service", config.log_level)?;
    let (addr, admin_addr) = (public.local_addr()?, admin_listener.local_addr()?);
    let shutdown = shutdown_signal()?;
    tracing::info!(%addr, %admin_addr, "listening");

    let relay = Relay::new(config.max_waiting_keys, config.wait_timeout, config.max_pipes);
    let measured = Arc::clone(&relay);
    let holder = Arc::clone(&relay);
    let held = async move |headers: HeaderMap| {
        holder.held(headers.get("x-key").and_then(|key| key.to_str().ok()).unwrap_or_default())
    };
    let (known, ended) = (Arc::clone(&relay), Arc::clone(&relay));
    let admin = Admin::new(move || measured.metrics()).with(
        Router::new()
            // `relay-home` asks whether somebody waits here for the other half of a pair.
            .route("/held", get(held))
            .route("/waiting", get(async move || known.waiting()))
            .route("/sessions", get(async move || ended.sessions())),
    );
    let leaving = Arc::clone(&relay);
    // From the signal on homes send no free key here.
    let shutdown = async move {
        shutdown.await;
        leaving.leave_service();
    };
    let delay = config.serving.shutdown_delay;
    let acceptor = Acceptor::new(&relay, config.serving.max_connections, config.header_timeout);
    let listeners = (public, admin_listener);
    serve_with(listeners, &config.serving, admin, shutdown, async |listener, stopped| {
        let partners_came = async {
            // Meanwhile those come who were sent here before the signal.
            stopped.await;
            relay.close();
            // The last of them also gets a delay for its partner.
            let _ = timeout(delay, relay.nobody_waits()).await;
        };
        let open = acceptor.run(listener, partners_came).await;
        // No partner can come any more.
        relay.end_waits();
        open.shutdown()
    })
    .await;
    Ok(())
}
