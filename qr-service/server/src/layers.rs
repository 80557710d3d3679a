//! The layers around the routes, outermost first.
//!
//! 1. [`observe`]: request id, common response headers, metrics and the access log. It is outermost so that it sees
//!    every answer, 404s and 503s included, and measures the whole time. tower-http's four layers for these tasks
//!    (`SetRequestId`, `PropagateRequestId`, `SetResponseHeader`, `Trace`) together cost more than drawing the picture.
//! 2. The router.
//!
//! The limits are elsewhere. `service-kit` has the timeouts and the limit on connections, below HTTP, because public
//! handlers never wait and only clients are slow. There is no limit on requests in flight: each takes microseconds of
//! its thread, so there are never more than threads. `routes/qrcode.rs` catches panics, because only that handler can
//! panic.

use std::time::Instant;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::X_CONTENT_TYPE_OPTIONS;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::access_log::{Access, trace_id};
use crate::app::App;
use crate::metrics::{MethodLabel, Route};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const SERVED_BY: HeaderName = HeaderName::from_static("x-served-by");
/// Longest request id that is accepted from a client, in characters.
const MAX_REQUEST_ID: usize = 128;

/// Observes the answer of `next`; see the module's documentation.
pub(crate) async fn observe(
    State(app): State<&'static App>,
    request: Request,
    next: Next,
) -> Response {
    let start = Instant::now();
    let headers = request.headers();
    let method = MethodLabel::of(request.method());
    let by_path = Route::of(request.uri().path());
    let request_id = request_id(headers);
    // Looking the header up takes time, so this is skipped if no request is logged.
    let may_log = app.access_log.may_log();
    let traceparent = if may_log { headers.get("traceparent").cloned() } else { None };

    let mut response = next.run(request).await;

    let route = route_of(by_path, &mut response);
    let (status, duration) = (response.status(), start.elapsed());
    let id = request_id.to_str().unwrap_or_default();
    app.metrics.observe_request((route, method, status), id, duration);
    if app.access_log.logs(status) {
        let access = Access {
            request_id: id,
            trace_id: traceparent.as_ref().and_then(trace_id),
            route: route.into_str(),
            method: method.into_str(),
            status: status.as_u16(),
            duration,
        };
        access.log();
    }
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, request_id);
    headers.insert(SERVED_BY, HeaderValue::from_static("qr-service"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// The client's request id if it is valid, else 128 random bits. Ids must be distinct; they need not be secret.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let sent = headers.get(REQUEST_ID).filter(|id| is_request_id(id.as_bytes())).cloned();
    sent.unwrap_or_else(|| {
        let made = hex::encode(fastrand::u128(..).to_be_bytes());
        HeaderValue::try_from(made).unwrap_or(HeaderValue::from_static("-"))
    })
}

/// Whether it is 1 to 128 visible ASCII characters.
fn is_request_id(id: &[u8]) -> bool {
    (1..=MAX_REQUEST_ID).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic)
}

/// The route of an answer. The path determines it, except for the URLs of other services: one of them takes every path
/// of a host.
#[cfg(feature = "api")]
fn route_of(by_path: Route, response: &mut Response) -> Route {
    let mark = response.extensions_mut().remove::<crate::v1::Compatible>();
    if mark.is_some() { Route::Api } else { by_path }
}

#[cfg(not(feature = "api"))]
fn route_of(by_path: Route, _: &mut Response) -> Route {
    by_path
}
