//! The request that is sent to both sides.

use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Marks the shadow's own requests. If a shadow is pointed at the proxy, the proxy mirrors them back
/// to it, and [`Asked::of`] drops them.
pub(crate) const SHADOW_MARK: HeaderName = HeaderName::from_static("x-route-shadow");

/// The parts of a mirrored request that are sent again.
///
/// `If-None-Match` is left out: each side makes its own tags, so only one of them might answer 304.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    /// Path and query, byte for byte.
    pub(crate) target: PathAndQuery,
    /// X-Request-Id, so that the logs of both sides can be matched.
    pub(crate) request_id: Option<HeaderValue>,
    /// The headers that the route file names.
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

fn copied(value: &HeaderValue) -> Option<HeaderValue> {
    HeaderValue::from_bytes(value.as_bytes()).ok()
}

impl Asked {
    /// The request to send again; `None` if a shadow sent `request`, or if it has no path (CONNECT).
    pub(crate) fn of<B>(request: &Request<B>, sent: &[HeaderName]) -> Option<Self> {
        if request.method() == Method::CONNECT || request.headers().contains_key(SHADOW_MARK) {
            return None;
        }
        // Copied, as the headers are: they are slices of the connection's buffer, and keep all of it.
        let target = request.uri().path_and_query()?.as_str();
        Some(Asked {
            method: request.method().clone(),
            target: PathAndQuery::from_maybe_shared(Bytes::copy_from_slice(target.as_bytes()))
                .ok()?,
            request_id: request.headers().get(REQUEST_ID).and_then(copied),
            headers: sent
                .iter()
                .flat_map(|name| {
                    request.headers().get_all(name).iter().map(move |value| (name, value))
                })
                .filter_map(|(name, value)| Some((name.clone(), copied(value)?)))
                .collect(),
            body: Bytes::new(),
        })
    }

    /// GET of `target`.
    pub(crate) fn get(target: PathAndQuery) -> Self {
        Asked {
            method: Method::GET,
            target,
            request_id: None,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        }
    }

    /// The request as judges see it.
    pub(crate) fn for_judge(&self) -> crate::judge::Asked<'_> {
        crate::judge::Asked { method: self.method.as_str(), target: self.target.as_str() }
    }
}
