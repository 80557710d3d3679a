//! The routes; each endpoint has its own file.

mod batch;
mod bodies;
pub(crate) mod compat;
mod decode;
mod docs;
mod labels;
mod many;
mod openapi;
mod page;
mod payload;
pub(crate) mod plain;
mod qr;
mod viewer;

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::any;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, VARY,
};
use http::{HeaderValue, Method, StatusCode};
use tokio::sync::Semaphore;

use self::compat::HostRoutes;
use self::plain::PlainRoutes;
use crate::head::Head;
use crate::parameters::Schema;
use crate::payload::schema_of;
use crate::pool::Pool;
use crate::{Routes, Settings};

/// Pictures that are received or decoded at once: 17 MB of them. A further one is answered 503.
const MAX_UPLOADS: usize = 4;

/// Batches and sheets of labels at once. Each takes up to 20 MB while its items are read. A further one is answered 503.
const MAX_BATCHES: usize = 2;

/// What the endpoints share.
pub(crate) struct Api {
    pub(crate) pool: Pool,
    /// Places for pictures that are being sent or decoded.
    pub(crate) uploads: Semaphore,
    /// The place for the one that is being decoded.
    pub(crate) decoding: Semaphore,
    /// Places for batches and sheets that are being made or sent.
    pub(crate) batches: Arc<Semaphore>,
    /// Made when the first request needs it.
    pub(crate) options: LazyLock<Schema>,
    /// Of a label besides its symbol, and of a sheet of labels.
    pub(crate) label: LazyLock<Schema>,
    pub(crate) sheet: LazyLock<Schema>,
    /// Of the fields of each of [`crate::payload::KINDS`].
    pub(crate) payloads: LazyLock<Vec<Schema>>,
}

/// The routes inside the layer for CORS.
///
/// | route | answered by |
/// | --- | --- |
/// | `/v1/qr` | [`qr::negotiated`] |
/// | `/v1/payload/KIND`, `/v1/payload/KIND.EXT` | [`payload::get`] |
/// | `/v1/batch` | [`batch::post`] |
/// | `/v1/labels` | [`labels::post`] |
/// | `/v1/decode` | [`decode::post`] |
/// | `/v1/docs`, `/v1/docs/plain`, `/v1/openapi.json` | [`docs::get`], [`docs::plain`], [`openapi::get`] |
/// | `/v1/assets/swagger-ui/NAME` | [`viewer::get`] |
/// | `/v1/`, `/v1/assets/NAME` | [`page::index`], [`page::asset`] |
/// | `/v1/qr.EXT`, any other below `/v1/` | [`qr::by_extension`] |
/// | paths of other services, if they are switched on | [`compat`] |
pub(crate) fn start(settings: &Settings) -> std::io::Result<Routes> {
    let api = Api {
        pool: Pool::new(settings.workers, settings.queue)?,
        uploads: Semaphore::new(MAX_UPLOADS),
        decoding: Semaphore::new(1),
        batches: Arc::new(Semaphore::new(MAX_BATCHES)),
        options: LazyLock::new(|| Schema::new(&crate::options::Options::schema())),
        label: LazyLock::new(schema_of::<crate::caption::LabelText>),
        sheet: LazyLock::new(schema_of::<crate::sheet::Sheet>),
        payloads: LazyLock::new(|| {
            crate::payload::KINDS.iter().map(|kind| (kind.schema)()).collect()
        }),
    };
    let api = Arc::new(api);
    let routes = Router::new()
        .route("/v1/qr", any(qr::negotiated))
        .route("/v1/payload/{kind}", any(payload::get))
        .route("/v1/batch", any(batch::post))
        .route("/v1/labels", any(labels::post))
        .route("/v1/decode", any(decode::post))
        .route("/v1/docs", any(docs::get))
        .route("/v1/docs/plain", any(docs::plain))
        .route("/v1/assets/swagger-ui/{name}", any(viewer::get))
        .route("/v1/openapi.json", any(openapi::get))
        .route("/v1/", any(page::index))
        .route("/v1/assets/{name}", any(page::asset))
        .route("/v1/{*path}", any(qr::by_extension))
        .merge(compat::router(&settings.compat))
        .with_state(Arc::clone(&api));
    let plain = PlainRoutes::new(Arc::clone(&api), settings.cors_origin.clone());
    let host = settings.show_host.as_deref().map(|name| HostRoutes::new(name, api));
    let paths = match &settings.cors_origin {
        Some(origin) => routes.route_layer(from_fn_with_state(origin.clone(), cors)),
        None => routes,
    };
    Ok(Routes { paths, host, plain })
}

/// The headers that pages of other origins may read.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "etag, retry-after, x-qr-kind, x-qr-level, x-qr-mask, x-qr-modules, x-qr-parts, \
     x-qr-unused-correction, x-qr-version, x-request-id",
);

/// Adds the headers for pages of other origins, and answers their preflight requests.
async fn cors(
    axum::extract::State(origin): axum::extract::State<HeaderValue>,
    request: Request,
    next: Next,
) -> Response {
    let is_preflight = *request.method() == Method::OPTIONS;
    let mut response = if is_preflight {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        if !request.uri().path().starts_with("/v1/") {
            response.extensions_mut().insert(compat::Compatible);
        }
        response
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    allow_origin(&origin, headers);
    if is_preflight {
        let methods = HeaderValue::from_static("GET, HEAD, POST, OPTIONS");
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
        let allowed = HeaderValue::from_static("content-type, if-none-match, x-request-id");
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed);
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    } else {
        headers.put(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
    response
}

/// Copies the origin: a clone of it would count in memory that all threads write to.
fn allow_origin(origin: &HeaderValue, head: &mut impl Head) {
    if origin != "*" {
        head.put(VARY, const { HeaderValue::from_static("Origin") });
    }
    head.put_bytes(ACCESS_CONTROL_ALLOW_ORIGIN, origin.as_bytes());
}
