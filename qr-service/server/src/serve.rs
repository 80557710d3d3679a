//! Listening, serving connections, and ending well.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::extract::Request;
use axum::response::Response;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tower::{Service, ServiceExt};

use crate::admin::{self, Readiness};
use crate::app::{self, App};
use crate::config::Config;
use crate::connection::{Timed, Timeouts};

/// Longest request head, in bytes; a longer one is answered 431 (or 414) by hyper.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// Connections over the limit that are told so at once; any more are closed without a word.
const MAX_REFUSALS: usize = 64;
/// What a connection over the limit is told.
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\n\
    content-length: 21\r\ncache-control: no-store\r\nretry-after: 1\r\nx-content-type-options: nosniff\r\n\
    x-served-by: qr-service\r\nconnection: close\r\n\r\noverloaded, try again";

/// The bound sockets.
pub struct Listeners {
    public: TcpListener,
    admin: TcpListener,
}

impl Listeners {
    /// Binds both.
    ///
    /// # Errors
    /// Names the address that cannot be bound, and the variable that sets it.
    pub async fn bind(config: &Config) -> anyhow::Result<Self> {
        let bind = async |addr: SocketAddr, variable: &str| {
            TcpListener::bind(addr)
                .await
                .with_context(|| format!("cannot listen on {addr} ({variable})"))
        };
        Ok(Listeners {
            public: bind(config.addr, "QR_ADDR").await?,
            admin: bind(config.admin_addr, "QR_ADMIN_ADDR").await?,
        })
    }

    /// Where the service listens: its port is the real one where 0 was asked for.
    ///
    /// # Errors
    /// What the system says.
    pub fn addr(&self) -> io::Result<SocketAddr> {
        self.public.local_addr()
    }

    /// Where health and metrics are.
    ///
    /// # Errors
    /// What the system says.
    pub fn admin_addr(&self) -> io::Result<SocketAddr> {
        self.admin.local_addr()
    }
}

/// Serves until `shutdown` resolves: then readiness goes, requests are taken for
/// `config.shutdown_delay` more, and what is under way may end within `config.drain_timeout`.
pub async fn run(config: Config, listeners: Listeners, shutdown: impl Future<Output = ()>) {
    let app = App::new(config.engine, config.max_in_flight, config.access_log);
    let readiness = Readiness::default();
    let admin_routes = admin::router(Arc::clone(&app), readiness.clone());
    let admin = Acceptor::new(listeners.admin, config.timeouts, 64);
    // Ends with the process: liveness and metrics are to be had until the last.
    let admin = tokio::spawn(admin.run(admin_routes, std::future::pending()));
    let public = Acceptor::new(listeners.public, config.timeouts, config.max_connections);
    let stopped = async {
        shutdown.await;
        readiness.set(false);
        tracing::info!(delay_seconds = config.shutdown_delay.as_secs_f64(), "shutting down");
        tokio::time::sleep(config.shutdown_delay).await;
    };
    readiness.set(true);
    let open = public.run(app::router(app), stopped).await;
    match timeout(config.drain_timeout, open.shutdown()).await {
        Ok(()) => tracing::info!("drained"),
        Err(_) => tracing::warn!("requests were still under way at the end of the drain timeout"),
    }
    admin.abort();
}

/// Accepts connections and serves each in a task.
struct Acceptor {
    listener: TcpListener,
    timeouts: Timeouts,
    places: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
    open: GracefulShutdown,
}

impl Acceptor {
    fn new(listener: TcpListener, timeouts: Timeouts, max_connections: usize) -> Self {
        Acceptor {
            listener,
            timeouts,
            places: Arc::new(Semaphore::new(max_connections)),
            refusals: Arc::new(Semaphore::new(MAX_REFUSALS)),
            open: GracefulShutdown::new(),
        }
    }

    /// Accepts until `stopped`; gives the connections that are still open.
    async fn run<S>(self, routes: S, stopped: impl Future<Output = ()>) -> GracefulShutdown
    where
        S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send + 'static,
    {
        let mut stopped = pin!(stopped);
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = &mut stopped => return self.open,
            };
            match accepted {
                Ok((stream, _)) => self.take(stream, routes.clone()),
                // Out of file descriptors, most likely: some will be given back.
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    fn take<S>(&self, stream: TcpStream, routes: S)
    where
        S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send + 'static,
    {
        // Small answers are not to wait for others. A stream that is gone already shows later.
        let _ = stream.set_nodelay(true);
        match Arc::clone(&self.places).try_acquire_owned() {
            Ok(place) => self.serve(stream, routes, place),
            Err(_) => {
                if let Ok(place) = Arc::clone(&self.refusals).try_acquire_owned() {
                    tokio::spawn(refuse(stream, place));
                }
            }
        }
    }

    fn serve<S>(&self, stream: TcpStream, routes: S, place: OwnedSemaphorePermit)
    where
        S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send + 'static,
    {
        let routes = routes.map_request(|request: hyper::Request<hyper::body::Incoming>| {
            request.map(axum::body::Body::new)
        });
        let connection = http1::Builder::new()
            .max_buf_size(MAX_HEAD_BYTES)
            // `Timed` has the timeouts.
            .header_read_timeout(None)
            .serve_connection(
                TokioIo::new(Timed::new(stream, self.timeouts)),
                TowerToHyperService::new(routes),
            );
        let connection = self.open.watch(connection);
        tokio::spawn(async move {
            // A client that goes away, or sends what is no HTTP, is its own affair.
            if let Err(error) = connection.await {
                tracing::debug!(%error, "connection ended");
            }
            drop(place);
        });
    }
}

/// Says 503 to a connection over the limit and closes it. What the client sent is read first: data
/// unread at a close would make the system reset the connection, and the answer be lost.
async fn refuse(mut stream: TcpStream, place: OwnedSemaphorePermit) {
    let talk = async {
        let mut request = [0; 4096];
        let _ = stream.read(&mut request).await?;
        stream.write_all(REFUSAL).await?;
        stream.shutdown().await?;
        while stream.read(&mut request).await? > 0 {}
        io::Result::Ok(())
    };
    // It is over, whatever came of it.
    let _ = timeout(Duration::from_secs(1), talk).await;
    drop(place);
}
