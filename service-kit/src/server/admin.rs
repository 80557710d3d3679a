//! Health and metrics, on a separate listener that the proxy's public port never reaches.
//!
//! | route | answer |
//! | --- | --- |
//! | `/livez` | 200 while the process runs |
//! | `/readyz` | 200, or 503 before the service is ready and once shutdown has begun |
//! | `/metrics` | OpenMetrics text |
//!
//! A service can add routes.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::TimeoutLayer;

/// The admin routes and the readiness that `/readyz` reports.
pub struct Admin {
    readiness: Readiness,
    metrics: Metrics,
    routes: Router,
}

/// Whether the service accepts requests.
pub type Readiness = Arc<AtomicBool>;

/// Returns all metrics as OpenMetrics text.
type Metrics = Arc<dyn Fn() -> Result<String, fmt::Error> + Send + Sync>;

impl Admin {
    /// Creates the routes that every service has. `metrics` returns the text of `/metrics`; its error becomes a 500 and
    /// a log line.
    pub fn new(metrics: impl Fn() -> Result<String, fmt::Error> + Send + Sync + 'static) -> Self {
        let readiness = Readiness::default();
        let routes = Router::new()
            .route("/livez", get(async || "ok\n"))
            .route("/readyz", get(readyz).with_state(readiness.clone()));
        Admin { readiness, metrics: Arc::new(metrics), routes }
    }

    /// Adds routes.
    #[must_use]
    pub fn with(self, more: Router) -> Self {
        Admin { routes: self.routes.merge(more), ..self }
    }

    /// The flag that `/readyz` reports. [`serve`](super::serve) sets it at the start and clears it on shutdown; a
    /// service may clear it earlier.
    pub fn readiness(&self) -> Readiness {
        self.readiness.clone()
    }

    pub(crate) fn into_router(self) -> Router {
        let timeout = Duration::from_secs(10);
        self.routes
            .route("/metrics", get(show_metrics).with_state(self.metrics))
            .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, timeout))
            .layer(CatchPanicLayer::new())
    }
}

const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers 500 if the metrics cannot be encoded: an empty 200 would look like a service without metrics.
async fn show_metrics(State(metrics): State<Metrics>) -> Response {
    match metrics() {
        Ok(text) => ([(CONTENT_TYPE, TEXT)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "cannot encode the metrics");
            (StatusCode::INTERNAL_SERVER_ERROR, "cannot encode the metrics\n").into_response()
        }
    }
}

async fn readyz(State(is_ready): State<Readiness>) -> (StatusCode, &'static str) {
    if is_ready.load(Ordering::Relaxed) {
        (StatusCode::OK, "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready\n")
    }
}
