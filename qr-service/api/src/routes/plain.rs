//! `GET /v1/qr` and `/v1/qr.EXT` once more, for [`service_kit::Shortcut`]: only pictures that take no longer than one
//! of `/qrcode`. What is wrong is said by the routes.

use std::sync::Arc;

use http::HeaderValue;
use http::header::ACCESS_CONTROL_EXPOSE_HEADERS;
use service_kit::Plain;

use super::qr::{CACHE, asked, is_quick, make_here};
use super::{Api, EXPOSED, allow_origin};
use crate::head::{Head, Lines};
use crate::options::Format;

/// The routes that answer a plain request in one call.
#[derive(Clone)]
pub struct PlainRoutes {
    api: Arc<Api>,
    cors_origin: Option<HeaderValue>,
}

impl PlainRoutes {
    pub(super) fn new(api: Arc<Api>, cors_origin: Option<HeaderValue>) -> Self {
        PlainRoutes { api, cors_origin }
    }

    /// Appends the headers of the answer that the routes would give, and returns its body; `None` if the routes have
    /// to. The target's query has no characters that are illegal in one, and the request no condition.
    pub fn answer(&self, request: &Plain<'_>, head: &mut Vec<u8>) -> Option<Vec<u8>> {
        let (path, query) = request.target().split_once('?')?;
        let of_path = match path.strip_prefix("/v1/qr")? {
            "" => None,
            extension => Some(Format::of_extension(extension.strip_prefix('.')?)?),
        };
        let options = self.api.options.read_right(query)?;
        let accept = || request.headers("accept");
        let (plan, about) = asked(options, of_path, accept, Vec::new()).ok()?;
        let made = is_quick(&plan).then(|| make_here(&plan))?.ok()?;
        let mut head = Lines(head);
        about.put_found(&made, CACHE, &mut head);
        if let Some(origin) = &self.cors_origin {
            allow_origin(origin, &mut head);
            head.put(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        }
        Some(made.bytes)
    }
}
