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

use crate::admin::Admin;
use crate::connection::{Timed, Timeouts};

/// Longest request head, in bytes; a longer one is answered 431 (or 414) by hyper.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// Connections to the admin listener at once.
const MAX_ADMIN_CONNECTIONS: usize = 64;
/// Connections over the limit that are told so at once; any more are closed without a word.
const MAX_REFUSALS: usize = 64;

/// How to serve.
#[derive(Clone, Debug)]
pub struct Serving {
    /// Who serves, as in `X-Served-By`.
    pub service: &'static str,
    /// What clients may take.
    pub timeouts: Timeouts,
    /// Connections to the public listener at once, at least 1.
    pub max_connections: usize,
    /// From a signal to the end of accepting.
    pub shutdown_delay: Duration,
    /// From then to the end of [`serve`].
    pub drain_timeout: Duration,
}

/// The bound sockets.
pub struct Listeners {
    public: TcpListener,
    admin: TcpListener,
}

impl Listeners {
    /// Binds both; each address comes with the variable that sets it.
    ///
    /// # Errors
    /// Names the address that cannot be bound, and its variable.
    pub async fn bind(
        public: (SocketAddr, &str),
        admin: (SocketAddr, &str),
    ) -> anyhow::Result<Self> {
        let bind = async |(addr, variable): (SocketAddr, &str)| {
            TcpListener::bind(addr)
                .await
                .with_context(|| format!("cannot listen on {addr} ({variable})"))
        };
        Ok(Listeners { public: bind(public).await?, admin: bind(admin).await? })
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

/// Serves `routes` and `admin` until `shutdown` resolves: then readiness goes, requests are taken
/// for the shutdown delay more, and what is under way may end within the drain timeout: requests,
/// and after them `rest`.
pub async fn serve<S>(
    listeners: Listeners,
    serving: &Serving,
    routes: S,
    admin: Admin,
    shutdown: impl Future<Output = ()>,
    rest: impl Future<Output = ()>,
) where
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send + 'static,
{
    let readiness = admin.readiness();
    let admin_acceptor = Acceptor::new(listeners.admin, serving, MAX_ADMIN_CONNECTIONS);
    // Ends with the process: liveness and metrics are to be had until the last.
    let admin = tokio::spawn(admin_acceptor.run(admin.into_router(), std::future::pending()));
    let public = Acceptor::new(listeners.public, serving, serving.max_connections);
    let stopped = async {
        shutdown.await;
        readiness.set(false);
        tracing::info!(delay_seconds = serving.shutdown_delay.as_secs_f64(), "shutting down");
        tokio::time::sleep(serving.shutdown_delay).await;
    };
    readiness.set(true);
    let open = public.run(routes, stopped).await;
    let ended = async {
        open.shutdown().await;
        rest.await;
    };
    match timeout(serving.drain_timeout, ended).await {
        Ok(()) => tracing::info!("drained"),
        Err(_) => tracing::warn!("requests were still under way at the end of the drain timeout"),
    }
    admin.abort();
}

/// Accepts connections and serves each in a task.
struct Acceptor {
    listener: TcpListener,
    timeouts: Timeouts,
    /// What a connection over the limit is told.
    refusal: Arc<str>,
    places: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
    open: GracefulShutdown,
}

impl Acceptor {
    fn new(listener: TcpListener, serving: &Serving, max_connections: usize) -> Self {
        Acceptor {
            listener,
            timeouts: serving.timeouts,
            refusal: refusal(serving.service).into(),
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
                    tokio::spawn(refuse(stream, Arc::clone(&self.refusal), place));
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

fn refusal(service: &str) -> String {
    let body = "overloaded, try again";
    let length = body.len();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\n\
         content-length: {length}\r\ncache-control: no-store\r\nretry-after: 1\r\n\
         x-content-type-options: nosniff\r\nx-served-by: {service}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// Says 503 to a connection over the limit and closes it. What the client sent is read first: data
/// unread at a close would make the system reset the connection, and the answer be lost.
async fn refuse(mut stream: TcpStream, refusal: Arc<str>, place: OwnedSemaphorePermit) {
    let talk = async {
        let mut request = [0; 4096];
        let _ = stream.read(&mut request).await?;
        stream.write_all(refusal.as_bytes()).await?;
        stream.shutdown().await?;
        while stream.read(&mut request).await? > 0 {}
        io::Result::Ok(())
    };
    // It is over, whatever came of it.
    let _ = timeout(Duration::from_secs(1), talk).await;
    drop(place);
}
