//! The routes; each endpoint has its own file.

mod batch;
mod bodies;
pub(crate) mod compat;
mod decode;
mod grade;
mod labels;
mod many;
mod openapi;
mod page;
mod payload;
mod qr;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::routing::{any, post};
use http::header::{CONTENT_TYPE, IF_NONE_MATCH, ORIGIN};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use tokio::sync::{Semaphore, SemaphorePermit};
use tower_http::cors::{AllowOrigin, CorsLayer};

use self::compat::HostRoutes;
use crate::v1::fault::Refusal;
use crate::v1::pool::Pool;
use crate::v1::{Routes, Settings, upload};

/// The most KiB of picture files that are received or decoded at once. Requests beyond that are answered 503.
const MAX_UPLOAD_KIB: usize = 16 << 10;

/// The most batches and label sheets at once. Each takes up to 20 MB while its items are read. Further requests wait,
/// and are answered 503 if no place becomes free.
const MAX_BATCHES: usize = 2;

/// The state that the endpoints share.
pub(crate) struct Api {
    pub(crate) pool: Pool,
    /// Free KiB for picture files that are being received or decoded.
    pub(crate) uploads: Semaphore,
    /// Free KiB of memory for decoding pictures.
    pub(crate) decoding: Arc<Semaphore>,
    /// Free places for batches and sheets that are being made or sent.
    pub(crate) batches: Arc<Semaphore>,
}

/// How a handler gets this state.
type Shared = State<Arc<Api>>;

impl Api {
    /// Takes room for a body of the announced length, or of `most` bytes if it announces none. Call it before reading
    /// the body. Fails with [`Refusal::Busy`] if there is not enough room.
    fn upload(&self, headers: &HeaderMap, most: usize) -> Result<SemaphorePermit<'_>, Refusal> {
        let bytes = bodies::announced(headers).unwrap_or(most).min(most);
        let kib = u32::try_from(bytes.div_ceil(1024)).map_err(|_| Refusal::Internal)?;
        self.uploads.try_acquire_many(kib).map_err(|_| Refusal::Busy)
    }
}

/// Starts the worker threads and returns the routes, inside the layer for CORS.
///
/// | route | answered by |
/// | --- | --- |
/// | `/v1/qr` | `qr::negotiated` |
/// | `/v1/payload/KIND`, `/v1/payload/KIND.EXT` | `payload::get` |
/// | `/v1/batch` | `batch::post` |
/// | `/v1/labels` | `labels::post` |
/// | `/v1/decode` | `decode::post` |
/// | `/v1/grade` | `grade::post` |
/// | `/v1/openapi.json` | `openapi::get` |
/// | `/v1/`, `/v1/docs`, `/v1/assets/NAME` | `page::index`, `page::docs`, `page::asset` |
/// | `/v1/assets/swagger-ui/NAME` | `page::viewer` |
/// | `/v1/qr.EXT`, any other below `/v1/` | `qr::by_extension` |
/// | paths of other services, if they are switched on | `compat` |
///
/// Fails if a thread cannot be started.
pub(crate) fn start(settings: &Settings) -> std::io::Result<Routes> {
    let api = Api {
        pool: Pool::new(settings.workers, settings.queue)?,
        uploads: Semaphore::new(MAX_UPLOAD_KIB),
        decoding: Arc::new(Semaphore::new(upload::MAX_BYTES / 1024)),
        batches: Arc::new(Semaphore::new(MAX_BATCHES)),
    };
    let api = Arc::new(api);
    let routes = Router::new()
        .route("/v1/qr", any(qr::negotiated))
        .route("/v1/payload/{kind}", any(payload::get))
        .route("/v1/batch", post(batch::post))
        .route("/v1/labels", post(labels::post))
        .route("/v1/decode", post(decode::post))
        .route("/v1/grade", post(grade::post))
        .route("/v1/docs", any(page::docs))
        .route("/v1/assets/swagger-ui/{name}", any(page::viewer))
        .route("/v1/openapi.json", any(openapi::get))
        .route("/v1/", any(page::index))
        .route("/v1/assets/{name}", any(page::asset))
        .route("/v1/{*path}", any(qr::by_extension))
        .method_not_allowed_fallback(|| async { Refusal::Method("POST") })
        .with_state(Arc::clone(&api));
    let others = compat::router(&settings.compat).with_state(Arc::clone(&api));
    let with_cors = |routes: Router| match &settings.cors_origin {
        // axum panics on a route layer without routes.
        Some(origin) if routes.has_routes() => routes.route_layer(cors(origin)),
        _ => routes,
    };
    let paths = with_cors(routes).merge(compat::marked(with_cors(others)));
    let host = settings.show_host.as_deref().map(|name| HostRoutes::new(name, api));
    Ok(Routes { paths, host })
}

/// The headers for pages of other origins, and the answers to their preflight requests.
fn cors(origin: &HeaderValue) -> CorsLayer {
    // With `*` the answer is the same for every origin, so it does not vary.
    let vary = if origin == "*" { Vec::new() } else { vec![ORIGIN] };
    CorsLayer::new()
        .allow_origin(AllowOrigin::exact(origin.clone()))
        .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::OPTIONS])
        .allow_headers([CONTENT_TYPE, IF_NONE_MATCH, HeaderName::from_static("x-request-id")])
        .expose_headers(EXPOSED.map(HeaderName::from_static))
        .max_age(Duration::from_secs(86_400))
        .vary(vary)
}

/// The headers that pages of other origins may read.
#[rustfmt::skip]
const EXPOSED: [&str; 11] = [
    "content-disposition", "etag", "retry-after", "x-qr-kind", "x-qr-level", "x-qr-mask", "x-qr-modules",
    "x-qr-parts", "x-qr-unused-correction", "x-qr-version", "x-request-id",
];
