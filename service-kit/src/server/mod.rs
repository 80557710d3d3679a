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
pub mod metrics;
mod per_thread;
mod places;
mod process_metrics;
mod requests;
mod shortcut;
mod shutdown;
pub mod telemetry;
mod threads;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use anyhow::Context;
use tokio::net::{TcpListener, TcpSocket};
use tokio::time::timeout;

use accept::Acceptor;
pub use admin::Admin;
use clients::Clients;
pub use conditional::{OfUnknownLength, is_known, not_modified};
pub use connection::Timeouts;
pub use limits::{allow_connections, connections_up_to};
use metrics::Connections;
pub use requests::{InUse, RequestBody, Routes};
pub use shortcut::{AnswerPlain, Plain, Shortcut, end_answer, write_number};
pub use shutdown::shutdown_signal;
use threads::Public;
pub use threads::{ServeMode, Threads};

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
        public: (SocketAddr, &str),
        admin: (SocketAddr, &str),
    ) -> anyhow::Result<Self> {
        Self::bind_for(Threads::default(), public, admin).await
    }

    /// As [`Listeners::bind`], for [`serve`] on several threads. Call it on their [`Threads::runtime`].
    ///
    /// # Errors
    /// As [`Listeners::bind`].
    pub async fn bind_for(
        threads: Threads,
        (addr, variable): (SocketAddr, &str),
        admin: (SocketAddr, &str),
    ) -> anyhow::Result<Self> {
        let public = Public::bind(threads, addr).with_context(|| cannot(addr, variable))?;
        Ok(Listeners { public, admin: bind(admin).await? })
    }

    /// The public address, with the real port if port 0 was asked for.
    ///
    /// # Errors
    /// Those of getsockname(2).
    pub fn addr(&self) -> io::Result<SocketAddr> {
        self.public.first.local_addr()
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
    listen(addr).with_context(|| cannot(addr, variable))
}

/// Connections that the kernel accepts for a listener before the service does. The 128 of tokio's `bind` are one
/// burst while the machine is busy: the kernel drops the next ones, and their clients try again after a second, when
/// nginx has given up. If the service hangs, a proxy cannot connect once the queue is full, and gives up sooner than
/// with all of its requests in a longer one.
const BACKLOG: u16 = 1024;

fn listen(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // As tokio's `bind` has it: a service that starts anew need not wait until old connections are forgotten.
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    socket.listen(BACKLOG.into())
}

fn cannot(addr: SocketAddr, variable: &str) -> String {
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
    let public = listeners.public.first;
    let accept =
        async |stopped: Pin<Box<dyn Future<Output = ()> + '_>>| Ok(accept(public, stopped).await);
    // It cannot fail: this closure does not.
    let _ = serve_until(listeners.admin, serving, admin, shutdown, accept).await;
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
    acceptor.run(listener, &admin.into_router(), stopped).await;
    clients
}
