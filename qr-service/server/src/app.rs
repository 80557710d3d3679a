//! What the routes share, and the routes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::routing::any;
use tower::Service;

use crate::access_log::AccessLog;
use crate::engine::Engine;
use crate::error::Error;
use crate::layers;
use crate::metrics::Metrics;
use crate::routes::qrcode::{self, Tags};

/// What every request needs.
pub struct App {
    pub(crate) engine: Engine,
    pub(crate) tags: Tags,
    pub(crate) metrics: Metrics,
    pub(crate) in_flight: Limit,
    pub(crate) access_log: AccessLog,
}

impl App {
    /// The parts for `engine`, with at most `max_in_flight` requests under way.
    pub fn new(engine: Engine, max_in_flight: usize, access_log: AccessLog) -> Arc<Self> {
        Arc::new(App {
            engine,
            tags: Tags::new(engine),
            metrics: Metrics::new(engine),
            in_flight: Limit { most: max_in_flight, now: AtomicUsize::new(0) },
            access_log,
        })
    }

    /// The metrics of this app.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

/// The public routes with all that is around them.
///
/// | route | answered by |
/// | --- | --- |
/// | `/qrcode` | `routes::qrcode` |
/// | anything else | 404 |
pub fn router(
    app: Arc<App>,
) -> impl Service<
    axum::extract::Request,
    Response = axum::response::Response,
    Error = std::convert::Infallible,
    Future = impl Future<Output = Result<axum::response::Response, std::convert::Infallible>> + Send,
> + Clone
+ Send {
    let routes = Router::new()
        .route("/qrcode", any(qrcode::get))
        .fallback(async || Error::NotFound)
        .with_state(Arc::clone(&app));
    layers::around(app, routes)
}

/// A bound on what is under way at once.
pub(crate) struct Limit {
    most: usize,
    now: AtomicUsize,
}

impl Limit {
    /// A place, until the permit is dropped; none where all are taken.
    pub(crate) fn acquire(&self) -> Option<Permit<'_>> {
        // Permits are counted and nothing is published through them, so no ordering is needed.
        let before = self.now.fetch_add(1, Ordering::Relaxed);
        let permit = Permit(&self.now);
        (before < self.most).then_some(permit)
    }
}

/// A place under a [`Limit`].
pub(crate) struct Permit<'a>(&'a AtomicUsize);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http::{Request, StatusCode};
    use tower::ServiceExt;

    use super::*;

    fn request(uri: &str) -> axum::extract::Request {
        Request::get(uri).body(Body::empty()).unwrap()
    }

    #[tokio::test]
    async fn past_the_limit_the_answer_is_503_until_a_place_is_free() {
        let app = App::new(Engine::Default, 1, AccessLog::Off);
        let taken = app.in_flight.acquire();
        let answer = router(Arc::clone(&app)).oneshot(request("/qrcode?text=a")).await.unwrap();
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(answer.headers()["retry-after"], "1");
        drop(taken);
        let answer = router(Arc::clone(&app)).oneshot(request("/qrcode?text=a")).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
    }
}
