//! The routes; each endpoint has its own file.

mod qrcode;

use std::sync::Arc;

use axum::Router;
use axum::routing::any;
use service_kit::Routes;

use crate::app::App;
use crate::error::Error;
use crate::layers;
use crate::metrics::Route;

/// The public routes inside their layers.
///
/// | route | answered by |
/// | --- | --- |
/// | `/qrcode` | [`qrcode::get`] |
/// | any other | 404 |
pub(crate) fn router(app: Arc<App>) -> impl Routes {
    let routes = Router::new()
        .route(Route::Qrcode.as_str(), any(qrcode::get))
        .fallback(async || Error::NotFound)
        .with_state(Arc::clone(&app));
    layers::around(app, routes)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http::{Request, StatusCode};
    use tower::ServiceExt;

    use super::*;
    use crate::access_log::AccessLog;
    use crate::engine::Engine;

    #[tokio::test]
    async fn requests_over_the_limit_are_answered_503_until_one_ends() {
        let app = App::new(Engine::Default, 1, AccessLog::Off);
        let request = || Request::get("/qrcode?text=a").body(Body::empty()).unwrap();
        let taken = app.in_flight.acquire();
        let answer = router(Arc::clone(&app)).oneshot(request()).await.unwrap();
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(answer.headers()["retry-after"], "1");
        drop(taken);
        let answer = router(Arc::clone(&app)).oneshot(request()).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
    }
}
