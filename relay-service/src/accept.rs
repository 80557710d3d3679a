//! The accept loop: a limit on connections, and a task for each, which speaks HTTP/1.1 or, if the
//! client begins so, HTTP/2.
//!
//! It is not `service-kit`'s, whose timeouts would end streams, and which hides the socket.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::handler::Relay;
use crate::peer::Peer;

/// Bounds hyper's buffers of an HTTP/1 connection, and so a request's head and a piece of a body.
const MAX_HTTP1_BUFFER: usize = 64 * 1024;
/// Bytes that an HTTP/2 client may send ahead, for each stream and for the connection.
const HTTP2_WINDOW: u32 = 256 * 1024;
const MAX_HTTP2_STREAMS: u32 = 250;
const MAX_HTTP2_HEAD: u32 = 64 * 1024;
/// What an HTTP/2 connection begins with (RFC 9113, section 3.4); no HTTP/1 method does.
const HTTP2_PREFACE: &[u8] = b"PRI ";

pub(crate) struct Acceptor {
    relay: Arc<Relay>,
    places: Arc<Semaphore>,
    header_timeout: Duration,
    open: GracefulShutdown,
}

impl Acceptor {
    pub(crate) fn new(
        relay: &Arc<Relay>,
        max_connections: usize,
        header_timeout: Duration,
    ) -> Self {
        Acceptor {
            relay: Arc::clone(relay),
            places: Arc::new(Semaphore::new(max_connections.min(Semaphore::MAX_PERMITS))),
            header_timeout,
            open: GracefulShutdown::new(),
        }
    }

    /// Accepts until `stopped` resolves; returns the connections that are still open.
    pub(crate) async fn run(
        self,
        listener: TcpListener,
        stopped: impl Future<Output = ()>,
    ) -> GracefulShutdown {
        let mut stopped = pin!(stopped);
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = &mut stopped => return self.open,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                // Most likely there are no file descriptors left; wait until some are closed.
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
                tracing::warn!("too many connections");
                continue;
            };
            // Lines are short. If this fails, the connection is gone, and reading says so.
            let _ = stream.set_nodelay(true);
            let connection = Connection {
                peer: Peer::new(stream),
                relay: Arc::clone(&self.relay),
                header_timeout: self.header_timeout,
            };
            let watcher = self.open.watcher();
            tokio::spawn(async move {
                connection.serve(watcher).await;
                drop(place);
            });
        }
    }
}

struct Connection {
    peer: Peer,
    relay: Arc<Relay>,
    header_timeout: Duration,
}

impl Connection {
    /// A client that disconnects or sends invalid HTTP is not the service's error.
    async fn serve(self, open: Watcher) {
        let result = match timeout(self.header_timeout, self.speaks_http2()).await {
            Ok(Some(true)) => self.serve_http2(open).await,
            Ok(Some(false)) => self.serve_http1(open).await,
            Ok(None) | Err(_) => return,
        };
        if let Err(error) = result {
            tracing::debug!(%error, "connection ended");
        }
    }

    /// `None` if the client leaves before it says.
    async fn speaks_http2(&self) -> Option<bool> {
        let mut seen = [0; HTTP2_PREFACE.len()];
        loop {
            let count = self.peer.peek(&mut seen).await.ok()?;
            if count == 0 {
                return None;
            }
            if seen[..count] != HTTP2_PREFACE[..count] {
                return Some(false);
            }
            if count == seen.len() {
                return Some(true);
            }
            // Almost never: a part of the first four bytes. Readiness would return at once.
            sleep(Duration::from_millis(10)).await;
        }
    }

    async fn serve_http1(self, open: Watcher) -> hyper::Result<()> {
        let (relay, peer) = (self.relay, self.peer.clone());
        let service = service_fn(move |request| {
            let (relay, peer) = (Arc::clone(&relay), peer.clone());
            async move { relay.handle(request, Some(peer)).await }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.header_timeout)
            // Who has sent all may close that direction; `Peer::left` says who has left.
            .half_close(true)
            .max_buf_size(MAX_HTTP1_BUFFER)
            .serve_connection(TokioIo::new(self.peer.clone()), service);
        open.watch(connection).await?;
        self.peer.linger().await;
        Ok(())
    }

    async fn serve_http2(self, open: Watcher) -> hyper::Result<()> {
        let relay = self.relay;
        let service = service_fn(move |request| {
            let relay = Arc::clone(&relay);
            async move { relay.handle(request, None).await }
        });
        let connection = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .initial_stream_window_size(HTTP2_WINDOW)
            .initial_connection_window_size(HTTP2_WINDOW)
            .max_concurrent_streams(MAX_HTTP2_STREAMS)
            .max_header_list_size(MAX_HTTP2_HEAD)
            .max_send_buf_size(HTTP2_WINDOW as usize)
            .serve_connection(TokioIo::new(self.peer), service);
        open.watch(connection).await
    }
}
