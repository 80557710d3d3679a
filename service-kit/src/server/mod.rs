//! What a service needs besides its routes; see the README.

mod accept;
pub mod admin;
#[cfg(target_env = "musl")]
mod allocator;
mod clients;
mod conditional;
mod connection;
mod distribution;
mod limits;
mod listener;
pub mod metrics;
mod per_thread;
mod places;
mod process_metrics;
mod requests;
mod shortcut;
mod shutdown;
mod stream;
pub mod telemetry;
mod threads;
mod unix_socket;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use anyhow::{Context, anyhow};
use tokio::net::TcpListener;
use tokio::time::timeout;

use accept::Acceptor;
pub use admin::Admin;
use clients::Clients;
pub use conditional::{OfUnknownLength, is_known, not_modified};
pub use connection::Timeouts;
pub use limits::{allow_connections, connections_up_to};
use listener::{Listener, Port, listen_tcp};
use metrics::Connections;
pub use requests::{InUse, RequestBody, Routes};
pub use shortcut::{AnswerPlain, Plain, Shortcut, end_answer};
pub use shutdown::shutdown_signal;
use threads::Public;
pub use threads::{ServeMode, Threads};

use crate::ListenAddr;

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
    /// Answers what it can before hyper and the routes.
    pub shortcut: Option<Shortcut>,
    /// Time between a signal and the last accepted connection.
    pub shutdown_delay: Duration,
    /// Time that requests in flight have to end after that.
    pub drain_timeout: Duration,
}

/// What a public listener is bound to.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'a> {
    /// The addresses, one at least.
    pub addresses: &'a [ListenAddr],
    /// The name of the variable that sets them.
    pub variable: &'a str,
    /// Whether a Unix socket may be taken from a service that still listens there.
    pub takes_over: bool,
}

/// The bound sockets.
pub struct Listeners {
    public: Public,
    admin: TcpListener,
}

impl Listeners {
    /// Binds both addresses; each comes with the name of the variable that sets it.
    ///
    /// # Errors
    /// If an address cannot be bound; the error names it and its variable.
    pub async fn bind(
        (addr, variable): (SocketAddr, &str),
        admin: (SocketAddr, &str),
    ) -> anyhow::Result<Self> {
        let public = Binding { addresses: &[addr.into()], variable, takes_over: false };
        Self::bind_for(Threads::default(), public, admin).await
    }

    /// As [`Listeners::bind`], with other public addresses, for [`serve`] on several threads. Call it on their
    /// [`Threads::runtime`].
    ///
    /// # Errors
    /// As [`Listeners::bind`].
    pub async fn bind_for(
        threads: Threads,
        public: Binding<'_>,
        admin: (SocketAddr, &str),
    ) -> anyhow::Result<Self> {
        // The last to be bound is the one that may take a running service's place.
        let admin = bind(admin).await?;
        let bound = Public::bind(threads, public.addresses, public.takes_over);
        let public = bound
            .map_err(|(addr, error)| anyhow!(error).context(cannot(&addr, public.variable)))?;
        Ok(Listeners { public, admin })
    }

    /// The public addresses, separated by commas, with the real port where port 0 was asked for.
    ///
    /// # Errors
    /// Those of getsockname(2).
    pub fn addr(&self) -> io::Result<String> {
        let addresses = self.public.addresses()?;
        Ok(addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
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
    let bound = listen_tcp(addr, Port::Alone).and_then(TcpListener::from_std);
    bound.with_context(|| cannot(&addr.into(), variable))
}

fn cannot(addr: &ListenAddr, variable: &str) -> String {
    format!("cannot listen on {addr} ({variable})")
}

/// Serves `routes` and `admin` until `shutdown` resolves. Then `/readyz` answers 503, and after the
/// shutdown delay the service stops accepting connections. The drain timeout bounds the rest:
/// requests in flight end, then `rest` runs.
///
/// # Errors
/// If the threads of the public listener cannot start; see [`Listeners::bind_for`].
pub async fn serve(
    listeners: Listeners,
    serving: &Serving,
    routes: impl Routes,
    admin: Admin,
    shutdown: impl Future<Output = ()>,
    rest: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let public = listeners.public;
    serve_until(listeners.admin, serving, admin, shutdown, async |stopped| {
        let clients = Clients::new(
            serving.service,
            serving.timeouts,
            serving.max_connections,
            public.threads(),
            serving.connections.clone(),
        )
        .with_shortcut(serving.shortcut);
        let open = public.serve(clients, routes, stopped).await?;
        Ok(async {
            open.shutdown().await;
            rest.await;
        })
    })
    .await
}

/// As [`serve`], for a service that accepts its connections itself. `accept` gets the `public` listener
/// and a future that resolves when it must stop accepting. It returns what remains to be awaited, which
/// the drain timeout bounds. [`bind`] makes both listeners.
pub async fn serve_with<Stopped, Rest>(
    (public, admin_listener): (TcpListener, TcpListener),
    serving: &Serving,
    admin: Admin,
    shutdown: Stopped,
    accept: impl AsyncFnOnce(TcpListener, Pin<Box<dyn Future<Output = ()> + '_>>) -> Rest,
) where
    Stopped: Future<Output = ()>,
    Rest: Future<Output = ()>,
{
    let accept =
        async |stopped: Pin<Box<dyn Future<Output = ()> + '_>>| Ok(accept(public, stopped).await);
    // It cannot fail: this closure does not.
    let _ = serve_until(admin_listener, serving, admin, shutdown, accept).await;
}

/// Serves `admin`, and what `accept` serves until its future resolves.
async fn serve_until<Stopped, Rest>(
    listener: TcpListener,
    serving: &Serving,
    admin: Admin,
    shutdown: Stopped,
    accept: impl AsyncFnOnce(Pin<Box<dyn Future<Output = ()> + '_>>) -> anyhow::Result<Rest>,
) -> anyhow::Result<()>
where
    Stopped: Future<Output = ()>,
    Rest: Future<Output = ()>,
{
    let readiness = admin.readiness();
    // The admin listener outlives the public one: health and metrics are served during the drain.
    let admin = tokio::spawn(serve_admin_on(
        listener,
        serving.service,
        serving.timeouts,
        admin,
        std::future::pending(),
    ));
    let stopped = async {
        shutdown.await;
        readiness.set(false);
        tracing::info!(delay_seconds = serving.shutdown_delay.as_secs_f64(), "shutting down");
        tokio::time::sleep(serving.shutdown_delay).await;
    };
    readiness.set(true);
    let rest = accept(Box::pin(stopped)).await?;
    match timeout(serving.drain_timeout, rest).await {
        Ok(()) => tracing::info!("drained"),
        Err(_) => tracing::warn!("requests were still under way at the end of the drain timeout"),
    }
    admin.abort();
    Ok(())
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
    let stopped = async {
        shutdown.await;
        tracing::info!("shutting down");
    };
    let show_ready = async {
        ready.await;
        readiness.set(true);
        std::future::pending().await
    };
    let clients = tokio::select! {
        clients = serve_admin_on(listener, service, timeouts, admin, stopped) => clients,
        clients = show_ready => clients,
    };
    // A scrape under way takes milliseconds.
    let _ = timeout(Duration::from_secs(1), clients.shutdown()).await;
}

/// Serves `admin` until `stopped` resolves; returns the connections that are still open.
async fn serve_admin_on(
    listener: TcpListener,
    service: &'static str,
    timeouts: Timeouts,
    admin: Admin,
    stopped: impl Future<Output = ()>,
) -> Clients {
    let clients = Clients::new(service, timeouts, MAX_ADMIN_CONNECTIONS, 1, Connections::default());
    let acceptor = Acceptor { clients: &clients, home: Some(0), threads: Vec::new() };
    acceptor.run(vec![Listener::Tcp(listener)], &admin.into_router(), stopped).await;
    clients
}
