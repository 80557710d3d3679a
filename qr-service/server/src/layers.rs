//! The layers around the routes, outermost first.
//!
//! 1. [`Observe`]: request id, common response headers, metrics and the access log. It is outermost
//!    so that it sees every answer, 404s and 503s included, and measures the whole time. It replaces
//!    four of tower-http's layers (`SetRequestId`, `PropagateRequestId`, `SetResponseHeader`,
//!    `Trace`), which together cost more than drawing the picture.
//! 2. The router.
//!
//! Other limits are elsewhere. `service-kit` has the timeouts and the limit on connections, below
//! HTTP, because public handlers never wait and only clients are slow. So there is no limit on requests
//! in flight: each takes microseconds on its thread, and no more than there are threads are ever under
//! way. `routes/qrcode.rs` catches panics, because only that handler can panic. The admin listener,
//! which is not hot, uses tower-http's layers.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use http::header::X_CONTENT_TYPE_OPTIONS;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use pin_project_lite::pin_project;
use tower::Service;

use crate::access_log::{Access, trace_id};
use crate::app::App;
use crate::hex::write_hex;
use crate::metrics::{MethodLabel, Route};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const SERVED_BY: HeaderName = HeaderName::from_static("x-served-by");
/// Longest request id that is accepted from a client, in characters.
const MAX_REQUEST_ID: usize = 128;

/// Wraps the routes in the layers.
pub(crate) fn around<S>(app: &'static App, routes: S) -> Observe<S> {
    Observe { app, inner: routes }
}

/// See the module's documentation.
#[derive(Clone)]
pub(crate) struct Observe<S> {
    app: &'static App,
    inner: S,
}

/// A request's data for metrics, log and headers, taken before the router consumes it.
struct Seen {
    start: Instant,
    method: MethodLabel,
    route: Route,
    request_id: HeaderValue,
    /// `None` as well if no request is logged: a lookup costs time.
    traceparent: Option<HeaderValue>,
}

impl<S, B, A> Service<Request<B>> for Observe<S>
where
    S: Service<Request<B>, Response = Response<A>>,
{
    type Response = Response<A>;
    type Error = S::Error;
    type Future = Observed<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let headers = request.headers();
        let logged = self.app.access_log.may_log();
        let seen = Seen {
            start: Instant::now(),
            method: MethodLabel::of(request.method()),
            route: Route::of(request.uri().path()),
            request_id: request_id(headers),
            traceparent: if logged { headers.get("traceparent").cloned() } else { None },
        };
        Observed { app: self.app, seen: Some(seen), inner: self.inner.call(request) }
    }
}

/// The client's request id if it is one, else a new one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let sent = headers.get(REQUEST_ID).filter(|id| is_request_id(id.as_bytes())).cloned();
    sent.unwrap_or_else(|| {
        HeaderValue::from_bytes(&new_request_id()).unwrap_or(HeaderValue::from_static("-"))
    })
}

/// Whether it is 1 to 128 visible ASCII characters.
pub(crate) fn is_request_id(id: &[u8]) -> bool {
    (1..=MAX_REQUEST_ID).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic)
}

/// 128 random bits in hexadecimal. Ids must be distinct; they need not be secret.
pub(crate) fn new_request_id() -> [u8; 32] {
    let mut id = [0; 32];
    write_hex(&fastrand::u128(..).to_be_bytes(), &mut id);
    id
}

pin_project! {
    /// The answer of [`Observe`].
    pub(crate) struct Observed<F> {
        app: &'static App,
        seen: Option<Seen>,
        #[pin]
        inner: F,
    }
}

impl<F: Future<Output = Result<Response<A>, E>>, A, E> Future for Observed<F> {
    type Output = Result<Response<A>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut response = ready!(this.inner.poll(context))?;
        if let Some(seen) = this.seen.take() {
            finish(this.app, seen, &mut response);
        }
        Poll::Ready(Ok(response))
    }
}

fn finish<A>(app: &App, seen: Seen, response: &mut Response<A>) {
    let route = route_of(&seen, response);
    let duration = seen.start.elapsed();
    let answered = (route, seen.method, response.status());
    app.metrics.observe_request(answered, seen.request_id.as_bytes(), duration);
    if app.access_log.logs(response.status()) {
        let access = Access {
            request_id: seen.request_id.to_str().unwrap_or_default(),
            trace_id: seen.traceparent.as_ref().and_then(trace_id),
            route: route.as_str(),
            method: seen.method.as_str(),
            status: response.status().as_u16(),
            duration,
        };
        access.log();
    }
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, seen.request_id);
    headers.insert(SERVED_BY, HeaderValue::from_static("qr-service"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// The route of an answer. The path tells it, except where other services' paths are served, one of which
/// has every path of a host.
#[cfg(feature = "api")]
fn route_of<A>(seen: &Seen, response: &mut Response<A>) -> Route {
    let mark = response.extensions_mut().remove::<qr_api::Compatible>();
    if mark.is_some() { Route::Api } else { seen.route }
}

#[cfg(not(feature = "api"))]
fn route_of<A>(seen: &Seen, _: &Response<A>) -> Route {
    seen.route
}
