//! What is asked of both implementations.

use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue, Method, Request};

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Tells the implementations' logs and counters that no client asks.
pub(crate) const SHADOW_MARK: HeaderName = HeaderName::from_static("x-route-shadow");

/// A request as it came, as far as it is asked again.
///
/// If-None-Match is not: the implementations have tags of their own, and one would say 304 where
/// the other has to answer.
#[derive(Clone, Debug)]
pub struct Asked {
    /// GET or HEAD, and whatever else was mirrored.
    pub method: Method,
    /// Path and query, byte for byte.
    pub target: PathAndQuery,
    /// X-Request-Id, for the logs of both.
    pub request_id: Option<HeaderValue>,
}

impl Asked {
    /// What `request` asks; `None` where it names no path, as with CONNECT, and where a shadow asks:
    /// one that was pointed at the proxy would be mirrored its own questions for ever.
    pub fn of<B>(request: &Request<B>) -> Option<Self> {
        if request.method() == Method::CONNECT || request.headers().contains_key(SHADOW_MARK) {
            return None;
        }
        // A copy: the request's own is a slice of its connection's buffer, and would keep all of it.
        let target = request.uri().path_and_query()?.as_str();
        Some(Asked {
            method: request.method().clone(),
            target: PathAndQuery::from_maybe_shared(Bytes::copy_from_slice(target.as_bytes()))
                .ok()?,
            request_id: request.headers().get(REQUEST_ID).cloned(),
        })
    }

    /// GET of `target`.
    pub fn get(target: PathAndQuery) -> Self {
        Asked { method: Method::GET, target, request_id: None }
    }

    /// The text that a picture is asked of; `None` where the contract has the query refused.
    pub fn text(&self) -> Option<String> {
        let mut buffer = [0; qr_query::MAX_TEXT_BYTES];
        let query = self.target.query().unwrap_or_default();
        qr_query::parse_text(query.as_bytes(), &mut buffer).ok().map(str::to_owned)
    }
}
