//! Reads and checks a request.

use std::time::Instant;

use http::header::CONTENT_RANGE;
use http::request::Parts;
use http::{Method, Response, StatusCode};

use crate::body::Body;
use crate::{reply, target};

/// A complete answer, used as an error. Boxed because it is large and rare.
pub(crate) type Answer = Box<Response<Body>>;

/// A request that may wait.
pub(crate) struct KeyRequest {
    pub(crate) key: String,
    pub(crate) n: u8,
    pub(crate) sends: bool,
    pub(crate) at: Instant,
}

/// Checks a request without looking at its key's state. The error is the answer, also for `OPTIONS`.
pub(crate) fn check(request: &Parts) -> Result<KeyRequest, Answer> {
    let Some(key) = target::key(request.uri.path()) else {
        return Err(reply::error(StatusCode::NOT_FOUND, "Keys are below /p/.").into());
    };
    let sends = match request.method {
        Method::PUT | Method::POST => true,
        Method::GET => false,
        Method::OPTIONS => return Err(reply::options(&request.headers).into()),
        _ => return Err(reply::method_not_allowed(&request.method).into()),
    };
    let n = count(request, sends).map_err(|message| Box::new(reply::bad_request(&message)))?;
    if key.len() > target::MAX_KEY_BYTES {
        return Err(reply::error(StatusCode::URI_TOO_LONG, "A key has at most 1024 bytes.").into());
    }
    Ok(KeyRequest { key, n, sends, at: Instant::now() })
}

/// The number of receivers that a sender asks for or a receiver expects, or why the request is refused.
fn count(request: &Parts, sends: bool) -> Result<u8, String> {
    if sends && request.headers.contains_key(CONTENT_RANGE) {
        return Err(format!("Content-Range is not supported for now in {}", request.method));
    }
    if !sends && request.headers.get("service-worker").is_some_and(|value| value == "script") {
        return Err("Service Worker registration is rejected.".to_owned());
    }
    match target::count(request.uri.query().unwrap_or_default()) {
        None if sends => Err("Invalid \"n\" query parameter".to_owned()),
        None => Err("Invalid query parameter \"n\"".to_owned()),
        Some(0) => Err("n should > 0, but n = 0.".to_owned()),
        Some(n) => Ok(n),
    }
}
