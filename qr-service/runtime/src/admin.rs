//! Health and metrics, on a listener of their own that the proxy's public port never reaches.
//!
//! | route | answer |
//! | --- | --- |
//! | `/livez` | 200 while the process runs |
//! | `/readyz` | 200, and 503 from the moment shutdown begins |
//! | `/metrics` | the metrics, OpenMetrics text |
//!
//! and what the service adds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::get;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::TimeoutLayer;

/// The routes, and the readiness that they tell.
pub struct Admin {
    readiness: Readiness,
    routes: Router,
}

impl Admin {
    /// The routes that every service has; `metrics` gives the text of `/metrics`.
    pub fn new(metrics: impl Fn() -> String + Clone + Send + Sync + 'static) -> Self {
        let readiness = Readiness::default();
        let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        let routes = Router::new()
            .route("/livez", get(async || "ok\n"))
            .route("/readyz", get(readyz).with_state(readiness.clone()))
            .route("/metrics", get(async move || ([(CONTENT_TYPE, kind)], metrics())));
        Admin { readiness, routes }
    }

    /// Adds routes of the service's own.
    #[must_use]
    pub fn with(self, more: Router) -> Self {
        Admin { routes: self.routes.merge(more), ..self }
    }

    pub(crate) fn readiness(&self) -> Readiness {
        self.readiness.clone()
    }

    pub(crate) fn into_router(self) -> Router {
        let timeout = Duration::from_secs(10);
        self.routes
            .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, timeout))
            .layer(CatchPanicLayer::new())
    }
}

/// Whether the service takes requests. Clones say the same.
#[derive(Clone, Default)]
pub(crate) struct Readiness(Arc<AtomicBool>);

impl Readiness {
    pub(crate) fn set(&self, ready: bool) {
        self.0.store(ready, Ordering::Relaxed);
    }

    fn is_ready(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

async fn readyz(State(readiness): State<Readiness>) -> impl IntoResponse {
    if readiness.is_ready() {
        (StatusCode::OK, "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "shutting down\n")
    }
}
