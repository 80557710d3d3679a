//! The one error type at the HTTP edge: every error answer.
//!
//! A client's mistake (4xx) is not logged as an error. An unexpected error is logged once, where it
//! becomes [`Error::Generate`]; its text never leaves the process. The contract defines the bodies;
//! they never echo the text.

use axum::response::{IntoResponse, Response};
use contract::query::QueryError;
use http::header::{ALLOW, CACHE_CONTROL};
use http::{HeaderValue, StatusCode};

/// Why a request is answered with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Error {
    /// The method is neither GET nor HEAD.
    Method,
    /// The contract does not allow this `text` parameter.
    Query(QueryError),
    /// The engine failed, or the handler panicked.
    Generate,
    /// There is no such route.
    NotFound,
}

impl Error {
    fn parts(self) -> (StatusCode, &'static str) {
        match self {
            Error::Method => (StatusCode::METHOD_NOT_ALLOWED, "method not allowed"),
            Error::Query(query) => (
                StatusCode::BAD_REQUEST,
                match query {
                    QueryError::Missing => "missing \"text\" query param",
                    QueryError::Repeated => "text must be given once",
                    QueryError::NotUtf8 => "text must be valid UTF-8",
                    QueryError::TooLong => "text must be <= 512 bytes",
                },
            ),
            Error::Generate => (StatusCode::INTERNAL_SERVER_ERROR, "failed generating QR code"),
            Error::NotFound => (StatusCode::NOT_FOUND, "not found"),
        }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let (status, body) = self.parts();
        // A `str` is an answer of the type `text/plain; charset=utf-8`.
        let mut response = (status, [(CACHE_CONTROL, "no-store")], body).into_response();
        if self == Error::Method {
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        response
    }
}
