//! Reads the settings, binds, serves, and maps the outcome to an exit code.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::extract::Request;
use axum::routing::get;
use http::HeaderMap;
use service_kit::{
    Admin, Listener, Readiness, Serving, arguments, serve, shutdown_signal, telemetry,
};
use tokio::runtime::Builder;
use tokio::time::{sleep, timeout};

use crate::config::Arguments;
use crate::handler::Relay;

/// Runs the service until a signal ends it; returns the exit code.
pub fn run() -> ExitCode {
    let outcome = start(arguments::parse()).map(|()| ExitCode::SUCCESS);
    arguments::exit_code("relay-service", outcome, 1)
}

fn start(arguments: Arguments) -> anyhow::Result<()> {
    let serving = arguments.serving()?;
    let threads = arguments::threads(arguments.worker_threads);
    let mut runtime = match threads {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    let runtime = runtime.worker_threads(threads).enable_all().build();
    runtime.context("cannot start the runtime")?.block_on(bind_and_serve(arguments, serving))
}

async fn bind_and_serve(arguments: Arguments, serving: Serving) -> anyhow::Result<()> {
    let admin_listener = Listener::bind(arguments.admin_addr, "RELAY_ADMIN_ADDR")?;
    let public = Listener::bind(arguments.addr, "RELAY_ADDR")?;
    let _logging = telemetry::init("relay-service", arguments.log_level)?;
    let shutdown = shutdown_signal()?;
    tracing::info!(addr = %public.addr, admin_addr = %admin_listener.addr, "listening");

    let relay = Relay::new(arguments.max_waiting_keys.get(), arguments.wait_timeout);
    let admin = admin(&relay);
    let leaves = leave(&relay, shutdown, admin.readiness(), arguments.shutdown_delay);
    let answering = Arc::clone(&relay);
    let routes = Router::new().fallback(async move |request: Request| {
        Arc::clone(&answering).answer(request).await.map(axum::body::Body::new)
    });
    let listeners = (vec![public], admin_listener);
    serve(listeners, &serving, routes, admin, leaves, async {}).await;
    relay.end();
    Ok(())
}

fn admin(relay: &Arc<Relay>) -> Admin {
    let [measured, holder, known] = [(); 3].map(|()| Arc::clone(relay));
    let held = async move |headers: HeaderMap| {
        holder.held(headers.get("x-key").and_then(|key| key.to_str().ok()).unwrap_or_default())
    };
    Admin::new(move || measured.metrics()).with(
        Router::new()
            // `relay-home` asks whether this side holds a key.
            .route("/held", get(held))
            .route("/waiting", get(async move || known.waiting())),
    )
}

/// Waits for the signal and leaves in steps; resolves when the service must stop accepting connections.
async fn leave(
    relay: &Relay,
    shutdown: impl Future<Output = ()>,
    readiness: Readiness,
    delay: Duration,
) {
    shutdown.await;
    // From now on homes send no free key here. The delay lets clients arrive that were sent here before.
    readiness.store(false, Ordering::Relaxed);
    relay.leave_service();
    sleep(delay).await;
    relay.close();
    // The last of those clients also gets a whole delay to meet its partner.
    let _ = timeout(delay, relay.nobody_waits()).await;
    relay.end_waits();
}
