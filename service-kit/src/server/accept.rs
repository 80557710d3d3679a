//! The accept loop: a limit on connections, and a task for each connection.
//!
//! `docs/adr/0004-own-accept-loop.md` says why it is not `axum::serve`.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

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

use super::connection::{Timed, Timeouts};

/// Longest request head, in bytes. hyper answers 431 (or 414) to a longer one.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// Connections over the limit that are answered 503 at once; any more are closed without an answer.
pub(super) const MAX_REFUSALS: usize = 64;
/// Pause when file descriptors or memory are short.
const SHORTAGE: Duration = Duration::from_millis(50);

/// Answers the requests of a listener: an axum `Router`, or a tower service around one.
pub trait Routes:
    Service<Request, Response = Response, Error = Infallible, Future: Send + 'static>
    + Clone
    + Send
    + 'static
{
}

impl<S> Routes for S where
    S: Service<Request, Response = Response, Error = Infallible, Future: Send + 'static>
        + Clone
        + Send
        + 'static
{
}

pub(super) struct Acceptor {
    listener: TcpListener,
    timeouts: Timeouts,
    /// The answer to a connection over the limit.
    refusal: Arc<str>,
    places: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
    open: GracefulShutdown,
}

impl Acceptor {
    /// `service` is the name in `X-Served-By`.
    pub(super) fn new(
        listener: TcpListener,
        service: &str,
        timeouts: Timeouts,
        max_connections: usize,
    ) -> Self {
        Acceptor {
            listener,
            timeouts,
            refusal: refusal(service).into(),
            places: Arc::new(Semaphore::new(max_connections.min(Semaphore::MAX_PERMITS))),
            refusals: Arc::new(Semaphore::new(MAX_REFUSALS)),
            open: GracefulShutdown::new(),
        }
    }

    /// Accepts until `stopped` resolves; returns the connections that are still open.
    pub(super) async fn run(
        self,
        routes: impl Routes,
        stopped: impl Future<Output = ()>,
    ) -> GracefulShutdown {
        let mut stopped = pin!(stopped);
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = &mut stopped => return self.open,
            };
            match accepted {
                Ok((stream, _)) => self.take(stream, routes.clone()),
                Err(error) if is_shortage(&error) => {
                    tracing::warn!(%error, "cannot accept connections");
                    tokio::time::sleep(SHORTAGE).await;
                }
                // One client has gone, or its network failed; the next may be waiting.
                Err(error) => tracing::debug!(%error, "cannot accept a connection"),
            }
        }
    }

    /// Spawns a task that serves the connection, or refuses it if all places are taken.
    fn take(&self, stream: TcpStream, routes: impl Routes) {
        // Nagle's algorithm would delay small answers. If this fails, the connection is gone and
        // reading from it says so.
        let _ = stream.set_nodelay(true);
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            if let Ok(place) = Arc::clone(&self.refusals).try_acquire_owned() {
                tokio::spawn(refuse(stream, Arc::clone(&self.refusal), place));
            }
            return;
        };
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
            // A client that disconnects or sends invalid HTTP is not the service's error.
            if let Err(error) = connection.await {
                tracing::debug!(%error, "connection ended");
            }
            drop(place);
        });
    }
}

/// Whether accept(2) failed for lack of file descriptors or memory, which the next call lacks as well.
/// All its other errors concern one connection.
fn is_shortage(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|e| [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM].contains(&e))
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

/// Answers 503 to a connection over the limit and closes it. Reads the request first: closing with
/// unread data resets the connection, and the client would lose the answer.
async fn refuse(mut stream: TcpStream, refusal: Arc<str>, place: OwnedSemaphorePermit) {
    let talk = async {
        let mut request = [0; 4096];
        let _ = stream.read(&mut request).await?;
        stream.write_all(refusal.as_bytes()).await?;
        stream.shutdown().await?;
        while stream.read(&mut request).await? > 0 {}
        io::Result::Ok(())
    };
    // The connection closes in any case.
    let _ = timeout(Duration::from_secs(1), talk).await;
    drop(place);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_shortage_pauses_the_accept_loop() {
        let error = |errno: rustix::io::Errno| io::Error::from(errno);
        use rustix::io::Errno;
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM] {
            assert!(is_shortage(&error(errno)), "{errno}");
        }
        let of_one = [Errno::CONNABORTED, Errno::PROTO, Errno::HOSTUNREACH, Errno::PERM];
        for errno in of_one {
            assert!(!is_shortage(&error(errno)), "{errno}");
        }
        assert!(!is_shortage(&io::ErrorKind::TimedOut.into()));
    }
}
