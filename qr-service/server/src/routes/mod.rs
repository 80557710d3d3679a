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
