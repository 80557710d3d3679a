//! The one error type at the HTTP edge: every error answer.
//!
//! A client's mistake (4xx) is not logged as an error. An unexpected error is logged once, where it
//! becomes [`Error::Generate`]; its text never leaves the process. The contract defines the bodies;
//! they never echo the text.

use axum::response::{IntoResponse, Response};
use contract::query::QueryError;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE};
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

impl From<QueryError> for Error {
    fn from(error: QueryError) -> Self {
        Error::Query(error)
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let (status, body) = self.parts();
        let mut response = Response::new(body.into());
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.reserve(8);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self == Error::Method {
            headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        response
    }
}
