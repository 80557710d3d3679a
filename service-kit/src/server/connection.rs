//! Serves one connection through hyper. Ends it if the client takes too long, if the service stops, or if an answer
//! broke off.
//!
//! A connection has one timer. When it fires, the connection checks when its last answer ended, and resets the timer if
//! it has not been idle for too long. Setting a timer for each request would cost more than the rest of this file.

use std::error::Error;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::response::IntoResponse;
use futures_util::TryFutureExt;
use futures_util::future::{Either, ready};
use http::header::{CONNECTION, HOST};
use http::{HeaderValue, StatusCode, Version};
use http_body_util::BodyExt;
use hyper::Request;
use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::time::{Instant, sleep_until};
use tower::Service;

use super::Protocol;
use super::activity::{Activity, InFlight};
use super::metrics::{IDLE, WRITE};
use super::request_body::RequestBody;
use super::socket::Socket;

/// Longest request head, in bytes; hyper answers 431 (or 414) to a longer one. Also the most bytes that may wait to be
/// written.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// The same limit for a listener that streams bodies. A stalled stream holds four times as much; half the size would
/// cost a third of the speed.
const STREAM_BUFFER_BYTES: usize = 32 * 1024;
/// After a stop, a connection that has had no request gets this long to send one: its client could not know of the stop
/// when it connected.
const FIRST_REQUEST: Duration = Duration::from_secs(1);
/// After a stop, a client with an early answer gets this long to send the rest of its request and to close. Without a
/// stop, it gets the idle timeout.
const LINGER: Duration = Duration::from_secs(5);
/// Over HTTP/2, a client that has sent nothing for this long gets a ping.
const PING_EVERY: Duration = Duration::from_secs(30);
/// Time that a client has to answer a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// Flow-control window of HTTP/2. The service holds this much of a sender's body if nobody reads it.
const HTTP2_WINDOW_BYTES: u32 = 64 * 1024;

/// The errors of a body or of a connection.
pub(super) type BoxError = Box<dyn Error + Send + Sync>;

/// Builds hyper's settings for a listener's connections.
pub(super) fn builder(protocol: Protocol, half_close: bool) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // hyper's own header timeout is off: the timer of `serve` also covers HTTP/2 and connections whose version is not
    // known yet.
    let buffer = if protocol == Protocol::Http1 { MAX_HEAD_BYTES } else { STREAM_BUFFER_BYTES };
    builder.http1().max_buf_size(buffer).half_close(half_close).header_read_timeout(None);
    if protocol == Protocol::Http1 {
        return builder.http1_only();
    }
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_TIMEOUT)
        .initial_stream_window_size(HTTP2_WINDOW_BYTES)
        .initial_connection_window_size(HTTP2_WINDOW_BYTES)
        .max_send_buf_size(HTTP2_WINDOW_BYTES as usize)
        .max_header_list_size(MAX_HEAD_BYTES as u32);
    builder
}

/// Serves a connection until it ends. Fails with hyper's errors, or if the connection is idle for longer than
/// `idle_timeout`.
pub(super) async fn serve(
    builder: &auto::Builder<TokioExecutor>,
    socket: Socket,
    (routes, activity): (Router, &Arc<Activity>),
    idle_timeout: Duration,
) -> Result<(), BoxError> {
    let requests = service_fn(|mut request: Request<Incoming>| {
        if let Some(end) = &activity.end {
            request.extensions_mut().insert(end.clone());
        }
        let may_close = request.version() < Version::HTTP_2 && !request.body().is_end_stream();
        let answered = may_close.then(|| Arc::clone(activity));
        let request = request.map(|body| RequestBody::new(body, activity));
        let in_flight = InFlight::begin(activity);
        // The body owns this closure, so `in_flight` is dropped when the answer ends.
        let note_cut = move |error| {
            in_flight.0.is_cut.store(true, Ordering::Relaxed);
            error
        };
        let answer = if has_host(&request) {
            Either::Left(routes.clone().call(request))
        } else {
            Either::Right(ready(Ok(StatusCode::BAD_REQUEST.into_response())))
        };
        answer.map_ok(move |mut answer| {
            if answered.is_some_and(|it| it.is_unread.load(Ordering::Relaxed)) {
                // A client that has sent all of the body would otherwise use the connection again.
                answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            answer.map(|body| body.map_err(note_cut))
        })
    });
    let mut connection = pin!(builder.serve_connection(TokioIo::new(socket), requests));
    let mut timer = pin!(sleep_until(activity.connected + idle_timeout));
    let mut stop = pin!(activity.stop.notified());
    let (mut is_stopping, mut is_told) = (false, false);
    poll_fn(|context| {
        loop {
            if let Poll::Ready(ended) = connection.as_mut().poll(context) {
                return Poll::Ready(ended);
            }
            if !is_stopping && stop.as_mut().poll(context).is_ready() {
                is_stopping = true;
                timer.as_mut().reset(Instant::now() + idle_timeout.min(FIRST_REQUEST));
            }
            // Without a request yet, hyper would close at once, and a request on its way would be lost.
            if is_stopping && !is_told && activity.has_had_request.load(Ordering::Relaxed) {
                is_told = true;
                connection.as_mut().graceful_shutdown();
                continue;
            }
            if timer.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            let limit = match activity.is_lingering.load(Ordering::Relaxed) {
                _ if !is_stopping => idle_timeout,
                true => idle_timeout.min(LINGER),
                false => idle_timeout.min(FIRST_REQUEST),
            };
            let now = Instant::now();
            let until = activity.idle_since().map_or(now + limit, |since| since + limit);
            if until <= now {
                activity.metrics.timed_out.get_or_create(&IDLE).inc();
                return Poll::Ready(Err(io::Error::from(io::ErrorKind::TimedOut).into()));
            }
            timer.as_mut().reset(until);
        }
    })
    .await
    .inspect_err(|error| {
        if is_write_timeout(&**error) {
            activity.metrics.timed_out.get_or_create(&WRITE).inc();
        }
    })
}

/// Whether an HTTP/1.1 request has exactly one `Host` header (RFC 9112 section 3.2), which hyper does not check. True
/// for other versions.
fn has_host<B>(request: &Request<B>) -> bool {
    request.version() != Version::HTTP_11 || request.headers().get_all(HOST).iter().count() == 1
}

/// Whether hyper has given up because the client did not read.
fn is_write_timeout(error: &(dyn Error + 'static)) -> bool {
    let mut causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|it| it.kind() == io::ErrorKind::TimedOut)
    })
}
