//! What a service needs besides its routes; see the README.

mod accept;
mod activity;
pub mod admin;
mod client_end;
mod connection;
mod listener;
pub mod metrics;
mod process_metrics;
mod request_body;
mod shutdown;
mod socket;
pub mod telemetry;

use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use tokio::time::timeout;

use accept::Clients;
pub use admin::{Admin, Readiness};
pub use client_end::{ClientEnd, HeldEnd};
pub use listener::{Listener, connections_up_to};
use metrics::Connections;
pub use shutdown::shutdown_signal;

/// Connections to the admin listener at once.
const MAX_ADMIN_CONNECTIONS: u32 = 256;

/// The versions of HTTP that a listener speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.0 and HTTP/1.1.
    Http1,
    /// Also HTTP/2 without TLS, by prior knowledge.
    Http1And2,
}

/// How [`serve`] treats clients, and how it ends.
#[derive(Clone, Debug)]
pub struct Serving {
    /// The protocols of the public listener.
    pub protocol: Protocol,
    /// Whether an HTTP/1 client that half-closes its connection still gets its answer. If not, its request is dropped,
    /// unless the request holds its [`ClientEnd`].
    pub half_close: bool,
    /// Longest time until a request's head has arrived, counted from the connect or the end of the last answer.
    pub idle_timeout: Duration,
    /// Longest time for which a client may read nothing of its answer; `None` for no limit.
    pub write_timeout: Option<Duration>,
    /// Most connections to the public listener at once. At the limit, the longest-idle ones are closed, and new ones
    /// wait to be accepted.
    pub max_connections: u32,
    /// Metrics of the public listener.
    pub connections: Connections,
    /// Time from the signal until the service stops accepting connections.
    pub shutdown_delay: Duration,
    /// Time that requests in flight then have to end.
    pub drain_timeout: Duration,
}

impl Serving {
    /// Settings for clients in the same network: nginx, which closes idle connections after 30 s, and Prometheus, which
    /// keeps its connection between scrapes.
    pub fn near(max_connections: u32) -> Self {
        Serving {
            protocol: Protocol::Http1,
            half_close: true,
            idle_timeout: Duration::from_secs(75),
            write_timeout: Some(Duration::from_secs(10)),
            max_connections,
            connections: Connections::default(),
            shutdown_delay: Duration::ZERO,
            drain_timeout: Duration::from_secs(10),
        }
    }
}

/// Serves `routes` and `admin` until `shutdown` resolves. Then `/readyz` answers 503, and after the shutdown delay the
/// service stops accepting connections. Then requests in flight end, and `rest` runs; the drain timeout bounds both.
pub async fn serve(
    (public, admin_listener): (Vec<Listener>, Listener),
    serving: &Serving,
    routes: Router,
    admin: Admin,
    shutdown: impl Future<Output = ()>,
    rest: impl Future<Output = ()>,
) {
    let readiness = admin.readiness();
    let stopped = async {
        shutdown.await;
        readiness.store(false, Ordering::Relaxed);
        tracing::info!(delay_seconds = serving.shutdown_delay.as_secs_f64(), "shutting down");
        tokio::time::sleep(serving.shutdown_delay).await;
    };
    // The admin listener outlives the public one: health and metrics are served during the drain.
    let admin = tokio::spawn(serve_admin(admin_listener, admin, std::future::pending()));
    readiness.store(true, Ordering::Relaxed);
    let clients = Clients::new(serving);
    clients.accept(public, routes, stopped).await;
    let drained = async {
        clients.drain().await;
        rest.await;
    };
    match timeout(serving.drain_timeout, drained).await {
        Ok(()) => tracing::info!("drained"),
        Err(_) => tracing::warn!("requests were still under way at the end of the drain timeout"),
    }
    admin.abort();
}

/// Serves `admin` until `stopped` resolves, and finishes the scrapes under way. For services without public routes;
/// they set [`Admin::readiness`] themselves.
pub async fn serve_admin(listener: Listener, admin: Admin, stopped: impl Future<Output = ()>) {
    let clients = Clients::new(&Serving::near(MAX_ADMIN_CONNECTIONS));
    clients.accept(vec![listener], admin.into_router(), stopped).await;
    // A scrape under way takes milliseconds.
    let _ = timeout(Duration::from_secs(1), clients.drain()).await;
}
