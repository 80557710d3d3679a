//! Entity tags and conditional requests.

use std::convert::Infallible;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, StatusCode};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::engine::Engine;

/// Makes entity tags from the text, the engine and the version of its output, so the service answers a client
/// that has the picture with 304 without drawing it. A corrected picture gets a new version, so no client
/// keeps the wrong one; a release that draws the same pictures keeps their tags.
#[derive(Clone, Copy)]
pub(crate) struct Tags {
    seed: u64,
}

impl Tags {
    pub(crate) fn new(engine: Engine) -> Self {
        let maker = format!("{} {engine}", engine.output_version());
        Tags { seed: xxh3_64(maker.as_bytes()) }
    }

    /// The strong tag of the picture of `text`: 16 hexadecimal digits, quoted.
    pub(crate) fn of(self, text: &str) -> HeaderValue {
        quoted(xxh3_64_with_seed(text.as_bytes(), self.seed))
    }
}

/// A strong tag (RFC 9110 section 8.8.3).
pub(crate) fn quoted(hash: u64) -> HeaderValue {
    let mut tag = [b'"'; 18];
    // Fails only if there is no room for the digits.
    let _ = hex::encode_to_slice(hash.to_be_bytes(), &mut tag[1..17]);
    HeaderValue::from_bytes(&tag).unwrap_or(HeaderValue::from_static("\"\""))
}

/// Whether `If-None-Match` matches the tag: it is `*`, or a list that is compared weakly (RFC 9110 section 13.1.2).
pub(crate) fn is_known(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    listed_tags(headers)
        .any(|known| known == "*" || tag == known.strip_prefix("W/").unwrap_or(known))
}

/// Whether `If-None-Match` is `*`: it matches every picture, but only one that exists.
#[cfg(any(feature = "api", test))]
pub(crate) fn is_any(headers: &HeaderMap) -> bool {
    listed_tags(headers).any(|known| known == "*")
}

fn listed_tags(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

/// An answer 304, with the headers of the answer that the client has.
pub(crate) fn not_modified(tag: HeaderValue, cache: HeaderValue) -> Response {
    // With an empty body, hyper would answer HEAD with `Content-Length: 0`, which is not the picture's length (RFC 9110
    // section 8.6). For a body of unknown length it adds no such header.
    let body = Body::from_stream(futures_util::stream::empty::<Result<Bytes, Infallible>>());
    (StatusCode::NOT_MODIFIED, [(CACHE_CONTROL, cache), (ETAG, tag)], body).into_response()
}

#[cfg(test)]
mod tests;
