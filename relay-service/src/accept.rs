//! The accept loop: a limit on connections, and a task for each.
//!
//! It is not `service-kit`'s, whose timeouts would end streams, and which hides the socket.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::time::sleep;

use crate::handler::Relay;
use crate::http1::Connection;
use crate::peer::Peer;

pub(crate) struct Acceptor {
    relay: Arc<Relay>,
    places: Arc<Semaphore>,
    header_timeout: Duration,
    open: Open,
}

/// The connections that are still open.
pub(crate) struct Open {
    http2: GracefulShutdown,
    /// Held by every connection.
    stop: watch::Sender<bool>,
}

impl Open {
    /// Returns when all have ended; each may end the requests that it has begun.
    pub(crate) async fn shutdown(self) {
        self.stop.send_replace(true);
        tokio::join!(self.http2.shutdown(), self.stop.closed());
    }
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
            open: Open { http2: GracefulShutdown::new(), stop: watch::Sender::new(false) },
        }
    }

    /// Accepts until `stopped` resolves; returns the connections that are still open.
    pub(crate) async fn run(
        self,
        listener: TcpListener,
        stopped: impl Future<Output = ()>,
    ) -> Open {
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
                stop: self.open.stop.subscribe(),
            };
            let http2 = self.open.http2.watcher();
            tokio::spawn(async move {
                connection.serve(http2).await;
                drop(place);
            });
        }
    }
}
