//! Conditional requests: `If-None-Match`, and the 304 that answers it (RFC 9110 section 13).

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Bytes;
use http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use hyper::body::{Body, Frame};

/// Whether If-None-Match names the tag: a list, compared weakly, or `*` (RFC 9110 section 13.1.2).
pub fn is_known(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    headers.get_all(IF_NONE_MATCH).iter().any(|value| {
        value.as_bytes().split(|&b| b == b',').map(<[u8]>::trim_ascii).any(|known| {
            known == b"*" || known.strip_prefix(b"W/").unwrap_or(known) == tag.as_bytes()
        })
    })
}

/// 304 without a body, with the headers of the answer that the client has.
pub fn not_modified<B>(method: &Method, tag: HeaderValue, cache: HeaderValue) -> Response<B>
where
    B: From<Bytes> + From<OfUnknownLength>,
{
    // To HEAD hyper would add `Content-Length: 0`, which is not the picture's length (RFC 9110
    // section 8.6). If it does not know a body's length, it adds no header.
    let is_head = *method == Method::HEAD;
    let body = if is_head { OfUnknownLength.into() } else { Bytes::new().into() };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, cache);
    headers.insert(ETAG, tag);
    response
}

/// An empty body that does not report its length.
#[derive(Clone, Copy, Debug)]
pub struct OfUnknownLength;

impl Body for OfUnknownLength {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }
}

impl From<OfUnknownLength> for axum::body::Body {
    fn from(body: OfUnknownLength) -> Self {
        axum::body::Body::new(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_tags_is_compared_weakly_and_a_star_is_any() {
        let tag = HeaderValue::from_static("\"a\"");
        for (values, expected) in [
            (&["\"a\""][..], true),
            (&["W/\"a\""], true),
            (&["\"b\" ,\t\"a\""], true),
            (&["\"b\"", "\"a\""], true),
            (&["*"], true),
            (&["\"b\", \"ab\""], false),
            (&["a"], false),
            (&[""], false),
            (&[], false),
        ] {
            let values = values.iter().map(|it| (IF_NONE_MATCH, HeaderValue::from_static(it)));
            assert_eq!(is_known(&values.collect(), &tag), expected);
        }
    }

    #[test]
    fn only_the_answer_to_head_does_not_report_a_length() {
        for (method, length) in [(Method::GET, Some(0)), (Method::HEAD, None)] {
            let tag = HeaderValue::from_static("\"a\"");
            let cache = HeaderValue::from_static("no-cache");
            let answer: Response<axum::body::Body> = not_modified(&method, tag, cache);
            assert_eq!(answer.status(), StatusCode::NOT_MODIFIED);
            assert_eq!(answer.headers()[ETAG], "\"a\"");
            assert_eq!(answer.headers()[CACHE_CONTROL], "no-cache");
            assert_eq!(answer.body().size_hint().exact(), length);
        }
    }
}
