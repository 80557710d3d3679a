//! What a service needs besides its routes; see the README.

mod accept;
pub mod admin;
#[cfg(target_env = "musl")]
mod allocator;
mod conditional;
mod connection;
mod limits;
pub mod metrics;
mod places;
mod process_metrics;
mod requests;
mod shutdown;
pub mod telemetry;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::time::timeout;

use accept::Acceptor;
pub use admin::Admin;
pub use conditional::{OfUnknownLength, is_known, not_modified};
pub use connection::Timeouts;
pub use limits::{allow_connections, connections_up_to};
use metrics::Connections;
pub use requests::{InUse, RequestBody, Routes};
pub use shutdown::shutdown_signal;

/// Connections to the admin listener at once.
const MAX_ADMIN_CONNECTIONS: usize = 64;

/// How [`serve`] treats clients, and how it ends.
#[derive(Clone, Debug)]
pub struct Serving {
    /// The service's name, as in `X-Served-By`.
    pub service: &'static str,
    /// Time limits on clients.
    pub timeouts: Timeouts,
    /// Connections to the public listener at once. At the limit a new one takes the place of the one
    /// that has waited longest for its client; if there is none, it is answered 503.
    pub max_connections: usize,
    /// Metrics of the public listener.
    pub connections: Connections,
    /// Time between a signal and the last accepted connection.
    pub shutdown_delay: Duration,
    /// Time that requests in flight have to end after that.
    pub drain_timeout: Duration,
}

/// The bound sockets.
pub struct Listeners {
    public: TcpListener,
    admin: TcpListener,
}

impl Listeners {
    /// Binds both addresses; each comes with the name of the variable that sets it.
    ///
    /// # Errors
    /// If an address cannot be bound; the error names it and its variable.
    pub async fn bind(
        public: (SocketAddr, &str),
        admin: (SocketAddr, &str),
    ) -> anyhow::Result<Self> {
        Ok(Listeners { public: bind(public).await?, admin: bind(admin).await? })
    }

    /// The public address, with the real port if port 0 was asked for.
    ///
    /// # Errors
    /// Those of getsockname(2).
    pub fn addr(&self) -> io::Result<SocketAddr> {
        self.public.local_addr()
    }

    /// The address of health and metrics, likewise.
    ///
    /// # Errors
    /// Those of getsockname(2).
    pub fn admin_addr(&self) -> io::Result<SocketAddr> {
        self.admin.local_addr()
    }
}

/// Binds one address, which comes with the name of the variable that sets it.
///
/// # Errors
/// If the address cannot be bound; the error names it and its variable.
pub async fn bind((addr, variable): (SocketAddr, &str)) -> anyhow::Result<TcpListener> {
    // tokio lets 1024 connections wait. If the service hangs, a proxy cannot connect from then on, and
    // gives up sooner than with all of its requests in a longer queue.
    TcpListener::bind(addr).await.with_context(|| format!("cannot listen on {addr} ({variable})"))
}

/// Serves `routes` and `admin` until `shutdown` resolves. Then `/readyz` answers 503, and after the
/// shutdown delay the service stops accepting connections. The drain timeout bounds the rest:
/// requests in flight end, then `rest` runs.
#[expect(clippy::async_yields_async, reason = "`serve_with` awaits the rest, within its bound")]
pub async fn serve(
    listeners: Listeners,
    serving: &Serving,
    routes: impl Routes,
    admin: Admin,
    shutdown: impl Future<Output = ()>,
    rest: impl Future<Output = ()>,
) {
    serve_with(listeners, serving, admin, shutdown, async |listener, stopped| {
        let public = Acceptor::new(
            listener,
            serving.service,
            serving.timeouts,
            serving.max_connections,
            serving.connections.clone(),
        );
        let open = public.run(routes, stopped).await;
        async {
            open.shutdown().await;
            rest.await;
        }
    })
    .await;
}

/// As [`serve`], for a service that accepts its connections itself. `accept` gets the public listener
/// and a future that resolves when it must stop accepting. It returns what remains to be awaited, which
/// the drain timeout bounds.
pub async fn serve_with<Stopped, Rest>(
    listeners: Listeners,
    serving: &Serving,
    admin: Admin,
    shutdown: Stopped,
    accept: impl AsyncFnOnce(TcpListener, Pin<Box<dyn Future<Output = ()> + '_>>) -> Rest,
) where
    Stopped: Future<Output = ()>,
    Rest: Future<Output = ()>,
{
    let readiness = admin.readiness();
    let admin_acceptor = Acceptor::new(
        listeners.admin,
        serving.service,
        serving.timeouts,
        MAX_ADMIN_CONNECTIONS,
        Connections::default(),
    );
    // The admin listener outlives the public one: health and metrics are served during the drain.
    let admin = tokio::spawn(admin_acceptor.run(admin.into_router(), std::future::pending()));
    let stopped = async {
        shutdown.await;
        readiness.set(false);
        tracing::info!(delay_seconds = serving.shutdown_delay.as_secs_f64(), "shutting down");
        tokio::time::sleep(serving.shutdown_delay).await;
    };
    readiness.set(true);
    let rest = accept(listeners.public, Box::pin(stopped)).await;
    match timeout(serving.drain_timeout, rest).await {
        Ok(()) => tracing::info!("drained"),
        Err(_) => tracing::warn!("requests were still under way at the end of the drain timeout"),
    }
    admin.abort();
}

/// Serves `admin` alone until `shutdown` resolves, for a service that takes no requests. `/readyz`
/// answers 503 until `ready` resolves.
pub async fn serve_admin(
    listener: TcpListener,
    service: &'static str,
    timeouts: Timeouts,
    admin: Admin,
    ready: impl Future<Output = ()>,
    shutdown: impl Future<Output = ()>,
) {
    let readiness = admin.readiness();
    let acceptor =
        Acceptor::new(listener, service, timeouts, MAX_ADMIN_CONNECTIONS, Connections::default());
    let stopped = async {
        shutdown.await;
        tracing::info!("shutting down");
    };
    let show_ready = async {
        ready.await;
        readiness.set(true);
        std::future::pending().await
    };
    let open = tokio::select! {
        open = acceptor.run(admin.into_router(), stopped) => open,
        open = show_ready => open,
    };
    // A scrape under way takes milliseconds.
    let _ = timeout(Duration::from_secs(1), open.shutdown()).await;
}
