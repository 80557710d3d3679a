//! The accept loop: a limit on connections, and a task for each connection. `places.rs` decides which
//! connection is closed when the limit is reached.
//!
//! `docs/adr/0004-own-accept-loop.md` says why it is not `axum::serve`.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::extract::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;
use tower::{Service, ServiceExt};

use super::connection::{Timed, Timeouts};
use super::metrics::Connections;
use super::places::{Place, Places, Slot};

/// Longest request head, in bytes. hyper answers 431 (or 414) to a longer one.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// Connections over the limit that are answered 503 at once; any more are closed without an answer.
pub(super) const MAX_REFUSALS: usize = 64;
/// Pause when file descriptors or memory are short.
const SHORTAGE: Duration = Duration::from_millis(50);

/// Answers the requests of a listener: an axum `Router`, or a tower service around one. Its bodies are in
/// memory: one that pauses for longer than a quarter of a second would lose its connection.
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
    places: Arc<Places>,
    refusals: Arc<Semaphore>,
    stop: watch::Sender<bool>,
}

impl Acceptor {
    /// `service` is the name in `X-Served-By`.
    pub(super) fn new(
        listener: TcpListener,
        service: &str,
        timeouts: Timeouts,
        max_connections: usize,
        connections: Connections,
    ) -> Self {
        Acceptor {
            listener,
            timeouts,
            refusal: refusal(service).into(),
            places: Places::new(max_connections, connections),
            refusals: Arc::new(Semaphore::new(MAX_REFUSALS)),
            stop: watch::Sender::new(false),
        }
    }

    /// Accepts until `stopped` resolves; returns the connections that are still open.
    pub(super) async fn run(self, routes: impl Routes, stopped: impl Future<Output = ()>) -> Open {
        let mut stopped = pin!(stopped);
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = &mut stopped => return Open(self.stop),
            };
            match accepted {
                Ok((stream, _)) => {
                    match self.places.take() {
                        Some(place) => self.serve(stream, place, routes.clone()),
                        None => self.refuse(stream),
                    }
                    self.places.settle().await;
                }
                Err(error) if is_shortage(&error) => {
                    tracing::warn!(%error, "cannot accept connections");
                    self.places.close_one();
                    tokio::time::sleep(SHORTAGE).await;
                }
                // One client has gone, or its network failed; the next may be waiting.
                Err(error) => tracing::debug!(%error, "cannot accept a connection"),
            }
        }
    }

    /// Spawns a task that answers 503, if there are not too many.
    fn refuse(&self, stream: TcpStream) {
        if let Ok(place) = Arc::clone(&self.refusals).try_acquire_owned() {
            tokio::spawn(refuse(stream, Arc::clone(&self.refusal), place));
        }
    }

    /// Spawns a task that serves the connection.
    fn serve(&self, stream: TcpStream, place: Place, routes: impl Routes) {
        // Nagle's algorithm would delay small answers. If this fails, the connection is gone and
        // reading from it says so.
        let _ = stream.set_nodelay(true);
        let stream = Timed::new(stream, self.timeouts, place.slot());
        let stopped = self.stop.subscribe();
        let (begun, ended) = (place.slot(), place.slot());
        let routes = routes
            .map_request(move |request: hyper::Request<Incoming>| {
                begun.handle();
                request.map(axum::body::Body::new)
            })
            .map_response(move |response| {
                ended.handled();
                response
            });
        tokio::spawn(async move {
            // A client that disconnects or sends invalid HTTP is not the service's error.
            if let Err(error) = converse(stream, &place.slot(), routes, stopped).await {
                tracing::debug!(%error, "connection ended");
            }
            drop(place);
        });
    }
}

/// The connections that are still open.
pub(super) struct Open(watch::Sender<bool>);

impl Open {
    /// Returns when all have ended; each may end the request that it has begun.
    pub(super) async fn shutdown(self) {
        self.0.send_replace(true);
        self.0.closed().await;
    }
}

/// Serves a connection until it ends. hyper is there only while it has something to do.
async fn converse<R>(
    mut stream: Timed<TcpStream>,
    slot: &Slot,
    routes: R,
    mut stopped: watch::Receiver<bool>,
) -> anyhow::Result<()>
where
    R: Service<hyper::Request<Incoming>, Response = Response, Error = Infallible, Future: Send>
        + Clone,
{
    loop {
        // An error means that the listener is gone.
        let is_stopping = stopped.has_changed().is_err() || *stopped.borrow_and_update();
        if is_stopping && !stream.has_begun_head() {
            return Ok(());
        }
        tokio::select! {
            biased;
            read = stream.next_head(MAX_HEAD_BYTES) => read?,
            _ = stopped.changed(), if !is_stopping => continue,
        }
        let connection = http1::Builder::new()
            .max_buf_size(MAX_HEAD_BYTES)
            .keep_alive(!is_stopping)
            // `Timed` has the timeouts.
            .header_read_timeout(None)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes.clone()));
        // Boxed, or a connection that waits would have room for it.
        match Box::pin(serve(connection, slot, &mut stopped, is_stopping)).await? {
            Some(waiting) => stream = waiting,
            None => return Ok(()),
        }
    }
}

/// Serves requests until the connection ends, or returns its stream if the next head is not there soon.
async fn serve<R>(
    mut connection: http1::Connection<TokioIo<Timed<TcpStream>>, TowerToHyperService<R>>,
    slot: &Slot,
    stopped: &mut watch::Receiver<bool>,
    mut is_stopping: bool,
) -> hyper::Result<Option<Timed<TcpStream>>>
where
    R: Service<hyper::Request<Incoming>, Response = Response, Error = Infallible, Future: Send>
        + Clone,
{
    loop {
        let served = poll_fn(|context| match Pin::new(&mut connection).poll(context) {
            Poll::Ready(ended) => Poll::Ready(Some(ended)),
            Poll::Pending if slot.takes_lean() => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        });
        tokio::select! {
            biased;
            ended = served => match ended {
                Some(ended) => return ended.map(|()| None),
                None => break,
            },
            _ = stopped.changed(), if !is_stopping => {
                is_stopping = true;
                Pin::new(&mut connection).graceful_shutdown();
            }
        }
    }
    let parts = connection.into_parts();
    let mut stream = parts.io.into_inner();
    stream.take_back(&parts.read_buf);
    Ok(Some(stream))
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
