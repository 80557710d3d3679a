//! Health and metrics, on a separate listener that the proxy's public port never reaches.
//!
//! | route | answer |
//! | --- | --- |
//! | `/livez` | 200 while the process runs |
//! | `/readyz` | 200, or 503 before the service is ready and once shutdown has begun |
//! | `/metrics` | OpenMetrics text, or protobuf if the service has it and the scraper prefers it |
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
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::TimeoutLayer;

/// The admin routes and the readiness that `/readyz` reports.
pub struct Admin {
    readiness: Readiness,
    metrics: Metrics,
    routes: Router,
}

/// Encodes all metrics.
type Source<T> = Arc<dyn Fn() -> Result<T, fmt::Error> + Send + Sync>;

/// The sources of `/metrics`.
#[derive(Clone)]
struct Metrics {
    text: Source<String>,
    protobuf: Option<Source<Vec<u8>>>,
}

impl Admin {
    /// The routes that every service has; `metrics` returns the text of `/metrics`; its
    /// error becomes a 500 and a line in the log.
    pub fn new(metrics: impl Fn() -> Result<String, fmt::Error> + Send + Sync + 'static) -> Self {
        let readiness = Readiness::default();
        let routes = Router::new()
            .route("/livez", get(async || "ok\n"))
            .route("/readyz", get(readyz).with_state(readiness.clone()));
        Admin { readiness, metrics: Metrics { text: Arc::new(metrics), protobuf: None }, routes }
    }

    /// Adds the metrics in Prometheus' protobuf, the only format with native histograms.
    #[must_use]
    pub fn with_protobuf(
        mut self,
        metrics: impl Fn() -> Result<Vec<u8>, fmt::Error> + Send + Sync + 'static,
    ) -> Self {
        self.metrics.protobuf = Some(Arc::new(metrics));
        self
    }

    /// Adds routes.
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
            .route("/metrics", get(show_metrics).with_state(self.metrics))
            .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, timeout))
            .layer(CatchPanicLayer::new())
    }
}

/// Whether the service accepts requests. Clones share the state.
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

const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PROTOBUF: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

async fn show_metrics(State(metrics): State<Metrics>, headers: HeaderMap) -> Response {
    match metrics.protobuf {
        Some(protobuf) if prefers_protobuf(&headers) => shown(PROTOBUF, protobuf()),
        _ => shown(TEXT, (metrics.text)()),
    }
}

/// An empty 200 would look like a service without metrics.
fn shown(kind: &'static str, encoded: Result<impl IntoResponse, fmt::Error>) -> Response {
    match encoded {
        Ok(body) => ([(CONTENT_TYPE, kind)], body).into_response(),
        Err(error) => {
            tracing::error!(%error, kind, "cannot encode the metrics");
            (StatusCode::INTERNAL_SERVER_ERROR, "cannot encode the metrics\n").into_response()
        }
    }
}

/// Whether Accept (RFC 9110 section 12.5.1) ranks this protobuf above every text format. Without
/// Accept the answer is text.
fn prefers_protobuf(headers: &HeaderMap) -> bool {
    let (mut protobuf, mut text) = (0.0, 0.0);
    for range in headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()) {
        for range in range.split(',') {
            let mut parameters = range.split(';').map(str::trim);
            let kind = parameters.next().unwrap_or_default();
            let has = |wanted| range.split(';').any(|parameter| parameter.trim() == wanted);
            let quality = parameters.find_map(|p| p.strip_prefix("q=")).unwrap_or("1");
            let quality: f32 = quality.parse().unwrap_or(0.0);
            let is_ours =
                has("proto=io.prometheus.client.MetricFamily") && has("encoding=delimited");
            match kind {
                "application/vnd.google.protobuf" if is_ours => protobuf = quality,
                "application/openmetrics-text" | "text/plain" => text = quality.max(text),
                _ => {}
            }
        }
    }
    protobuf > text
}

async fn readyz(State(readiness): State<Readiness>) -> impl IntoResponse {
    if readiness.is_ready() {
        (StatusCode::OK, "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn metrics_that_cannot_be_encoded_are_a_500() {
        use tower::ServiceExt;
        let protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
                        encoding=delimited";
        let admin = || Admin::new(|| Err(fmt::Error)).with_protobuf(|| Err(fmt::Error));
        for accept in ["*/*", protobuf] {
            let request = http::Request::get("/metrics").header(ACCEPT, accept);
            let request = request.body(axum::body::Body::empty()).unwrap();
            let answer = admin().into_router().oneshot(request).await.unwrap();
            assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR, "{accept}");
        }
    }

    #[test]
    fn protobuf_is_sent_only_if_accept_prefers_it() {
        let ours = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
        let prefers = |accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().unwrap());
            prefers_protobuf(&headers)
        };
        // Prometheus with native histograms; below, Prometheus without.
        assert!(prefers(&format!(
            "{ours},application/openmetrics-text;version=1.0.0;q=0.8,*/*;q=0.1"
        )));
        assert!(prefers(&format!("{ours};q=0.6, text/plain;version=0.0.4;q=0.5")));
        for other in [
            "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            &format!("application/openmetrics-text;q=0.6,{ours};q=0.5"),
            "application/vnd.google.protobuf;proto=other;encoding=delimited",
            &format!("{ours};q=nonsense"),
            "*/*",
            "",
        ] {
            assert!(!prefers(other), "{other}");
        }
    }
}
