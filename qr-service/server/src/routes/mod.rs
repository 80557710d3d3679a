//! The routes; each endpoint has its own file.

mod qrcode;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::any;

use crate::app::App;
use crate::error::Error;
use crate::layers::observe;

/// The public routes inside their layers.
///
/// | route | answered by |
/// | --- | --- |
/// | `/qrcode` | [`qrcode::answer`] |
/// | below `/v1/`, and other services' paths, with the feature `api` | `v1` |
/// | any other | 404 |
#[cfg(not(feature = "api"))]
pub(crate) fn router(app: &'static App) -> Router {
    around(app, with_qrcode(app, Router::new()))
}

/// The public routes with those of the API. If a host name has its own routes, these include `/qrcode`, so the
/// host is checked before the path.
#[cfg(feature = "api")]
pub(crate) fn router(app: &'static App, api: crate::v1::Routes) -> Router {
    let routes = with_qrcode(app, api.paths);
    around(app, api.host.map_or(routes.clone(), |host| host.before(routes)))
}

fn with_qrcode(app: &'static App, others: Router) -> Router {
    others.route("/qrcode", any(qrcode::answer).with_state(app)).fallback(async || Error::NotFound)
}

fn around(app: &'static App, routes: Router) -> Router {
    routes.layer(from_fn_with_state(app, observe))
}
