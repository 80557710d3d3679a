//! The `/v1/` routes of `qr-service`: QR codes with every option of `qr-core`, by query or JSON.
//!
//! A request goes through the steps of `qr-options`, and then one more: `verify` decodes every picture that is not
//! plain black on white at whole pixels. A picture that cannot be read is refused.
//!
//! The service fetches nothing on a client's behalf, and no log contains a text.

mod archive;
mod caption;
mod described;
mod document;
mod fault;
mod grade;
mod headers;
mod items;
mod letters;
mod logo;
mod payload;
mod pool;
mod reader;
mod routes;
mod same;
mod sheet;
mod table;
mod upload;
mod verify;

use axum::Router;
use http::HeaderValue;
use qr_options::{artwork, options, parameters, picture, plan, symbol};

pub(crate) use routes::compat::{Compatible, HostRoutes, Service};
pub(crate) use routes::start;

/// Settings of the API.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Threads for work that takes a millisecond or more.
    pub(crate) workers: usize,
    /// The most requests that wait for these threads; further ones are answered 503.
    pub(crate) queue: usize,
    /// `Access-Control-Allow-Origin`: `*`, or one origin; `None` sends no CORS headers.
    pub(crate) cors_origin: Option<HeaderValue>,
    /// Other services whose paths are served too.
    pub(crate) compat: Vec<Service>,
    /// A host name on which every path is answered as on qrcode.show.
    pub(crate) show_host: Option<String>,
}

/// The routes that [`start`] makes.
pub(crate) struct Routes {
    /// The routes below `/v1/` and those of other services, without a fallback for other paths.
    pub(crate) paths: Router,
    /// The routes of [`Settings::show_host`].
    pub(crate) host: Option<HostRoutes>,
}
