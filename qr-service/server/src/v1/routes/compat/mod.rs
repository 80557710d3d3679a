//! The paths of other QR services, so that programs that use these services can switch. Each service is off by
//! default, because an app may have such paths of its own. docs/switching.md lists the differences.
//!
//! | service | paths | |
//! | --- | --- | --- |
//! | goQR | `/v1/create-qr-code/`, `/v1/read-qr-code/` | [`goqr`], [`goqr_read`] |
//! | QuickChart | `/qr`, `/qr/batch` | [`quickchart`], [`batch`] |
//! | | `/qr-read`, `/api/validate-qr` | [`quickchart_read`], [`validate`] |
//! | Google Image Charts | `/chart` | [`google`] |
//! | qrcode.show | every path of one host name | [`show`] |
//!
//! They read parameters as leniently as the services do: unknown ones are ignored, and one of repeated ones
//! counts. Symbols and the check that they can be read are those of `/v1/qr`. No URL is fetched.

mod batch;
mod drawing;
mod fields;
mod google;
mod goqr;
mod goqr_read;
mod looks;
mod quickchart;
mod quickchart_read;
mod raster;
mod show;
mod validate;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, post};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HOST};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use strum::EnumString;
use xxhash_rust::xxh3::xxh3_64;

use super::Api;
use super::qr::NO_STORE;
use crate::tags::{is_known, not_modified, quoted};
use crate::v1::fault::Refusal;

/// The longest body of parameters.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// A service whose paths can be switched on.
#[derive(Clone, Copy, Debug, EnumString, PartialEq, Eq)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Service {
    /// goQR, also known as api.qrserver.com.
    Goqr,
    /// QuickChart's QR codes.
    Quickchart,
    /// The QR codes of Google Image Charts.
    Google,
}

/// Marks the answer of another service's route. The path alone cannot tell, because qrcode.show takes every path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compatible;

/// The routes of these services.
pub(super) fn router(services: &[Service]) -> Router<Arc<Api>> {
    let mut router = Router::new();
    for service in services {
        router = router.merge(match service {
            Service::Goqr => Router::new()
                .route("/v1/create-qr-code/", any(goqr::create))
                .route("/v1/create-qr-code", any(goqr::create))
                .route("/v1/read-qr-code/", any(goqr_read::read))
                .route("/v1/read-qr-code", any(goqr_read::read)),
            Service::Quickchart => Router::new()
                .route("/qr", any(quickchart::answer))
                .route("/qr/batch", post(batch::answer))
                .route("/qr-read", any(quickchart_read::read))
                .route("/api/validate-qr", post(validate::answer)),
            Service::Google => Router::new().route("/chart", any(google::answer)),
        });
    }
    router.method_not_allowed_fallback(|| async { Refusal::Method("POST") })
}

/// The routes with a layer that marks their answers as [`Compatible`].
pub(super) fn marked(routes: Router) -> Router {
    if routes.has_routes() { routes.route_layer(map_response(mark)) } else { routes }
}

async fn mark(mut response: Response) -> Response {
    response.extensions_mut().insert(Compatible);
    response
}

/// The routes of one host name, which answer every path like qrcode.show.
#[derive(Clone, Debug)]
pub(crate) struct HostRoutes {
    name: Arc<str>,
    router: Router,
}

impl HostRoutes {
    pub(super) fn new(name: &str, api: Arc<Api>) -> Self {
        let router = Router::new().fallback(show::answer).layer(map_response(mark));
        HostRoutes { name: name.into(), router: router.with_state(api) }
    }

    /// A router that answers this host, and passes all other requests to `routes`.
    pub(crate) fn before(self, routes: Router) -> Router {
        routes.layer(from_fn(move |request: Request, next: Next| {
            let host = self.clone();
            async move {
                if !host.is_host_of(&request) {
                    return next.run(request).await;
                }
                // A router's error is `Infallible`.
                let Ok(response) = tower::Service::call(&mut host.router.clone(), request).await;
                response
            }
        }))
    }

    fn is_host_of(&self, request: &Request) -> bool {
        let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
        let host = host.or(request.uri().authority().map(|authority| authority.as_str()));
        let name = host.unwrap_or_default().rsplit('@').next().unwrap_or_default();
        let name = name.split(':').next().unwrap_or_default();
        name.eq_ignore_ascii_case(&self.name)
    }
}

/// The client of a request, for deciding whether it already has the picture.
struct Client {
    method: Method,
    headers: HeaderMap,
}

impl Client {
    fn of(request: &Request) -> Self {
        Client { method: request.method().clone(), headers: request.headers().clone() }
    }

    /// The answer with a picture, or 304 if the client has it. The strong tag is a hash of the picture's bytes,
    /// because these services accept the same request in many forms.
    fn answer(&self, media: &'static str, picture: Vec<u8>, cache: &'static str) -> Response {
        let cache = HeaderValue::from_static(cache);
        let is_get = matches!(self.method, Method::GET | Method::HEAD);
        let tag = is_get.then(|| quoted(xxh3_64(&picture)));
        if let Some(tag) = tag.clone().filter(|tag| is_known(&self.headers, tag)) {
            return not_modified(tag, cache);
        }
        let mut response = with_body(StatusCode::OK, media, picture);
        response.headers_mut().insert(CACHE_CONTROL, cache);
        response.headers_mut().extend(tag.map(|tag| (ETAG, tag)));
        response
    }
}

/// An answer 400 with one line of text.
fn refuse(line: &str) -> Response {
    uncached(StatusCode::BAD_REQUEST, "text/plain; charset=utf-8", format!("{line}\n"))
}

/// An answer with a body of this media type.
fn with_body(status: StatusCode, media: &'static str, body: impl Into<Bytes>) -> Response {
    (status, [(CONTENT_TYPE, media)], body.into()).into_response()
}

/// Like [`with_body`], for answers that no cache may keep.
fn uncached(status: StatusCode, media: &'static str, body: impl Into<Bytes>) -> Response {
    ([(CACHE_CONTROL, NO_STORE)], with_body(status, media, body)).into_response()
}
