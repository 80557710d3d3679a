//! All answers of the relay, except the streams' bodies.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, CONTENT_DISPOSITION,
    CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};

use crate::body::Body;
use crate::pairing::Refusal;

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, OPTIONS");
const ANY_ORIGIN: HeaderValue = HeaderValue::from_static("*");
const PLAIN: HeaderValue = HeaderValue::from_static("text/plain");
const TRUE: HeaderValue = HeaderValue::from_static("true");
const X_PIPING: HeaderName = HeaderName::from_static("x-piping");

/// Adds the headers that every answer has.
pub(crate) fn stamp(headers: &mut HeaderMap) {
    headers.insert("x-served-by", HeaderValue::from_static("relay-service"));
}

/// A text that pages of any origin may read.
pub(crate) fn text(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, PLAIN);
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, ANY_ORIGIN);
    response
}

/// One `[ERROR]` line.
pub(crate) fn error(status: StatusCode, message: &str) -> Response<Body> {
    let mut response = text(Body::full(format!("[ERROR] {message}\n")));
    *response.status_mut() = status;
    response
}

/// 400: the client made a mistake.
pub(crate) fn bad_request(message: &str) -> Response<Body> {
    error(StatusCode::BAD_REQUEST, message)
}

/// 503: the client may try again.
pub(crate) fn unavailable(message: &str) -> Response<Body> {
    let mut response = error(StatusCode::SERVICE_UNAVAILABLE, message);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// An answer that is cut.
pub(crate) fn cut() -> Response<Body> {
    Response::new(Body::Cut)
}

/// Refuses to let somebody wait on `key`: 503 if a later try may succeed, otherwise 400.
pub(crate) fn refused(refusal: &Refusal, key: &str) -> Response<Body> {
    match refusal {
        Refusal::TooManyKeys | Refusal::Closing => unavailable(&refusal.message(key)),
        _ => bad_request(&refusal.message(key)),
    }
}

/// 405, with the allowed methods.
pub(crate) fn method_not_allowed(method: &Method) -> Response<Body> {
    let message = format!("Unsupported method: {method}.");
    let mut response = error(StatusCode::METHOD_NOT_ALLOWED, &message);
    response.headers_mut().insert(ALLOW, METHODS);
    response
}

/// Answers a preflight request.
pub(crate) fn options(request: &HeaderMap) -> Response<Body> {
    let mut response = Response::new(Body::Full(None));
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, ANY_ORIGIN);
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    let allowed = HeaderValue::from_static("Content-Type, Content-Disposition, X-Piping");
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    if request.get("access-control-request-private-network") == Some(&TRUE) {
        headers.insert("access-control-allow-private-network", TRUE);
    }
    response
}

/// Copies those of a sender's headers that receivers get, so that the request and its buffer can be dropped.
pub(crate) fn described(request: &HeaderMap) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for name in [CONTENT_TYPE, CONTENT_DISPOSITION, X_PIPING] {
        for value in request.get_all(&name) {
            if let Ok(copy) = HeaderValue::from_bytes(value.as_bytes()) {
                headers.append(name.clone(), copy);
            }
        }
    }
    headers
}

/// The headers of a receiver's answer. `request` are the sender's headers, `part` those of the first part if its body
/// is multipart.
pub(crate) fn receiver_headers(
    request: &HeaderMap,
    length: Option<u64>,
    part: Option<&HeaderMap>,
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(length) = length {
        headers.insert(CONTENT_LENGTH, length.into());
    }
    let described = part.unwrap_or(request);
    if let Some(content_type) = described.get(CONTENT_TYPE) {
        headers.insert(CONTENT_TYPE, harmless(content_type));
    }
    if let Some(disposition) = described.get(CONTENT_DISPOSITION) {
        headers.insert(CONTENT_DISPOSITION, disposition.clone());
    }
    for value in request.get_all(X_PIPING) {
        headers.append(X_PIPING, value.clone());
    }
    if headers.contains_key(X_PIPING) {
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("X-Piping"));
    }
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, ANY_ORIGIN);
    headers.insert("x-robots-tag", HeaderValue::from_static("none"));
    // A stranger may send a page with scripts, and the browser would run them on this site's origin.
    headers.insert("content-security-policy", HeaderValue::from_static("sandbox"));
    headers
}

/// Turns `text/html` into `text/plain`: no browser may show a stranger's page as one of this site.
fn harmless(content_type: &HeaderValue) -> HeaderValue {
    const HTML: &[u8] = b"text/html";
    let value = content_type.as_bytes().trim_ascii_start();
    let Some((kind, rest)) = value.split_at_checked(HTML.len()) else {
        return content_type.clone();
    };
    let ends = rest.trim_ascii_start().first().is_none_or(|&byte| byte == b';');
    if !kind.eq_ignore_ascii_case(HTML) || !ends {
        return content_type.clone();
    }
    HeaderValue::from_bytes(&[b"text/plain", rest].concat()).unwrap_or(PLAIN)
}

#[cfg(test)]
mod tests;
