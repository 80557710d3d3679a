//! The connections of one thread, from the first head to the last answer.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::unconstrained;
use tokio::time::timeout;

use super::connection::{Timed, Timeouts};
use super::metrics::Connections;
use super::places::{Place, Places, Slot};
use super::requests::{Requests, Routes};
use super::shortcut::Shortcut;
use super::stream::Stream;

/// Longest request head, in bytes. hyper answers 431 (or 414) to a longer one.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// Connections over the limit that are answered 503 at once; any more are closed without an answer.
pub(super) const MAX_REFUSALS: usize = 64;
/// Waits for a request until hyper leaves a connection whose next one may be answered without it. A few, since
/// making hyper again takes a microsecond, and what one client asks is often alike.
const WAITS_WITH_HYPER: u32 = 8;
/// After a stop, a new connection has so long to send the first byte of its request: its client could not
/// know of the stop when it connected.
const FIRST_BYTE: Duration = Duration::from_secs(1);

/// The connections of one thread, with the limits of all threads.
pub(super) struct Clients {
    timeouts: Timeouts,
    shortcut: Option<Shortcut>,
    /// The answer to a connection over the limit.
    refusal: Arc<str>,
    pub(super) places: Arc<Places>,
    refusals: Arc<Semaphore>,
    /// Of this thread alone: a connection that waits long counts its receivers up and down.
    stop: watch::Sender<bool>,
}

impl Clients {
    /// `service` is the name in `X-Served-By`; `threads` is how many [`Clients`] share the limits.
    pub(super) fn new(
        service: &str,
        timeouts: Timeouts,
        max_connections: usize,
        threads: u16,
        connections: Connections,
    ) -> Self {
        Clients {
            timeouts,
            shortcut: None,
            refusal: refusal(service).into(),
            places: Places::new(max_connections, threads, connections),
            refusals: Arc::new(Semaphore::new(MAX_REFUSALS)),
            stop: watch::Sender::new(false),
        }
    }

    /// The same, where `shortcut` answers what it can.
    pub(super) fn with_shortcut(self, shortcut: Option<Shortcut>) -> Self {
        Clients { shortcut, ..self }
    }

    /// The connections of another thread, which share the limits of these.
    pub(super) fn of_another_thread(&self) -> Self {
        Clients {
            timeouts: self.timeouts,
            shortcut: self.shortcut,
            refusal: Arc::clone(&self.refusal),
            places: Arc::clone(&self.places),
            refusals: Arc::clone(&self.refusals),
            stop: watch::Sender::new(false),
        }
    }

    /// Spawns a task that answers 503, if there are not too many.
    pub(super) fn refuse(&self, stream: Stream) {
        if let Ok(place) = Arc::clone(&self.refusals).try_acquire_owned() {
            tokio::spawn(refuse(stream, Arc::clone(&self.refusal), place));
        }
    }

    /// Spawns a task that serves the connection.
    pub(super) fn serve(&self, stream: Stream, place: Place, routes: impl Routes) {
        stream.prepare();
        let stream = Timed::new(stream, self.timeouts, place.slot());
        let (stopped, shortcut) = (self.stop.subscribe(), self.shortcut);
        tokio::spawn(async move {
            // A client that disconnects or sends invalid HTTP is not the service's error.
            if let Err(error) = converse(stream, &place.slot(), routes, shortcut, stopped).await {
                tracing::debug!(%error, "connection ended");
            }
            drop(place);
        });
    }

    /// Returns when all connections have ended; each may end the request that it has begun.
    pub(super) async fn shutdown(self) {
        self.stop.send_replace(true);
        self.stop.closed().await;
    }
}

/// Serves a connection until it ends. hyper is there only while it has something to do.
async fn converse(
    mut stream: Timed<Stream>,
    slot: &Arc<Slot>,
    mut routes: impl Routes,
    shortcut: Option<Shortcut>,
    mut stopped: watch::Receiver<bool>,
) -> anyhow::Result<()> {
    let mut stop = Stop {
        // An error means that the listener is gone.
        has_come: stopped.has_changed().is_err() || *stopped.borrow_and_update(),
        seen: stopped.clone(),
        changed: pin!(unconstrained(stopped.changed())),
        is_watched: false,
    };
    loop {
        if stop.has_come {
            poll_fn(|context| stream.poll_sent(context)).await?;
            if !stream.has_begun_head() {
                if !stream.is_new() {
                    return Ok(());
                }
                // Boxed, or every connection would have room for the timer.
                let head = Box::pin(timeout(FIRST_BYTE, stream.next_head(MAX_HEAD_BYTES, None)));
                if head.await.is_err() && !stream.has_begun_head() {
                    return Ok(());
                }
            }
        }
        {
            // An answer after a stop says that the connection ends, which hyper does.
            let shortcut = shortcut.filter(|_| !stop.has_come);
            let mut head = pin!(stream.next_head(MAX_HEAD_BYTES, shortcut));
            let read = poll_fn(|context| match head.as_mut().poll(context) {
                Poll::Ready(read) => Poll::Ready(Some(read)),
                Poll::Pending if stop.comes(context) => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            });
            match read.await {
                Some(read) => read?,
                None => continue,
            }
        }
        let connection = http1::Builder::new()
            .max_buf_size(MAX_HEAD_BYTES)
            .keep_alive(!stop.has_come)
            // `Timed` has the timeouts.
            .header_read_timeout(None)
            .serve_connection(TokioIo::new(stream), Requests::new(routes, Arc::clone(slot)));
        // Boxed, or a connection that waits would have room for it.
        match Box::pin(serve(connection, slot, &mut stop, shortcut.is_some())).await? {
            Some(waiting) => (stream, routes) = waiting,
            None => return Ok(()),
        }
    }
}

/// The stop of all connections of a thread, as one of them sees it. Polling `changed` takes a lock that they share,
/// so it is polled once, to be woken, and then when `seen` says that there is a change.
struct Stop<F> {
    has_come: bool,
    seen: watch::Receiver<bool>,
    /// Without tokio's budget, whose end would look like a wait.
    changed: F,
    is_watched: bool,
}

impl<F: Future + Unpin> Stop<F> {
    /// Whether the stop comes now; only once.
    fn comes(&mut self, context: &mut Context<'_>) -> bool {
        if self.has_come || self.is_watched && !self.seen.has_changed().unwrap_or(true) {
            return false;
        }
        self.is_watched = true;
        self.has_come = Pin::new(&mut self.changed).poll(context).is_ready();
        self.has_come
    }
}

/// Serves requests until the connection ends, or returns its stream and routes if the next head is not there
/// soon; if a shortcut may answer it, after a few waits.
async fn serve<R: Routes, F: Future + Unpin>(
    mut connection: http1::Connection<TokioIo<Timed<Stream>>, Requests<R>>,
    slot: &Slot,
    stop: &mut Stop<F>,
    has_shortcut: bool,
) -> hyper::Result<Option<(Timed<Stream>, R)>> {
    let mut waits = 0;
    let served = poll_fn(|context| {
        let mut polled = Pin::new(&mut connection).poll(context);
        // Only now: told to shut down before it has read anything, hyper would close at once, and the head that
        // the stream has for it would be lost.
        if polled.is_pending() && stop.comes(context) {
            Pin::new(&mut connection).graceful_shutdown();
            polled = Pin::new(&mut connection).poll(context);
        }
        waits += u32::from(has_shortcut && polled.is_pending() && slot.is_idle());
        match polled {
            Poll::Ready(ended) => Poll::Ready(Some(ended)),
            Poll::Pending if slot.takes_lean() || waits >= WAITS_WITH_HYPER => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    });
    if let Some(ended) = served.await {
        return ended.map(|()| None);
    }
    let parts = connection.into_parts();
    let mut stream = parts.io.into_inner();
    stream.take_back(&parts.read_buf);
    Ok(Some((stream, parts.service.into_routes())))
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
async fn refuse(mut stream: Stream, refusal: Arc<str>, place: OwnedSemaphorePermit) {
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
    use std::convert::Infallible;

    use axum::Router;
    use axum::body::{Body, Bytes};
    use axum::routing::get;
    use hyper::body::Frame;
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::{Sleep, sleep};

    use super::super::accept::Acceptor;
    use super::super::listener::Listener;
    use super::*;

    /// Longer than hyper stays while a connection waits for a head.
    const PAUSE: Duration = Duration::from_millis(700);

    /// A body of pieces with pauses between them.
    struct Pauses {
        left: usize,
        until: Pin<Box<Sleep>>,
    }

    impl hyper::body::Body for Pauses {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            std::task::ready!(self.until.as_mut().poll(context));
            if self.left == 0 {
                return Poll::Ready(None);
            }
            self.left -= 1;
            self.until = Box::pin(sleep(PAUSE));
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"piece ")))))
        }
    }

    #[tokio::test]
    async fn a_body_that_pauses_keeps_its_connection_on_both_ways() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let limit = Duration::from_secs(20);
        let timeouts = Timeouts { idle: limit, header: limit, write: limit };
        let clients = Clients::new("test", timeouts, 8, 1, Connections::default());
        let pauses = || Body::new(Pauses { left: 2, until: Box::pin(sleep(PAUSE)) });
        let routes = Router::new()
            .route("/", get(move || async move { pauses() }).post(|body: String| async { body }));
        let server = tokio::spawn(async move {
            let acceptor = Acceptor { clients: &clients, home: Some(0), threads: Vec::new() };
            acceptor.run(vec![Listener::Tcp(listener)], &routes, std::future::pending()).await;
        });
        let mut client = TcpStream::connect(address).await.unwrap();
        for _ in 0..2 {
            client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
            assert!(read_until(&mut client, "0\r\n\r\n").await.contains("6\r\npiece \r\n6\r\n"));
            let head = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 12\r\n\r\n";
            client.write_all(head).await.unwrap();
            for half in [b"GET / ", b"again!"] {
                sleep(PAUSE).await;
                client.write_all(half).await.unwrap();
            }
            assert!(read_until(&mut client, "again!").await.ends_with("\r\n\r\nGET / again!"));
            // hyper goes, and comes again with the next head.
            sleep(PAUSE).await;
        }
        server.abort();
    }

    async fn read_until(client: &mut TcpStream, end: &str) -> String {
        let mut text = String::new();
        while !text.ends_with(end) {
            let mut piece = [0; 1024];
            let read = client.read(&mut piece).await.unwrap();
            assert!(read > 0, "closed after {text:?}");
            text.push_str(std::str::from_utf8(&piece[..read]).unwrap());
        }
        text
    }
}
