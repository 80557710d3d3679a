//! Error answers: problem documents (RFC 9457) that list every fault of a request.
//!
//! | status | when |
//! | --- | --- |
//! | 400 | parameters that are unknown, repeated, malformed, out of range or contradictory |
//! | 404 | a path, a format or a payload that there is not |
//! | 405, 406, 408, 413, 415 | the method, `Accept`, a slow body, a long body, its media type |
//! | 422 | data that do not fit the symbol, and pictures that no reader would read |
//! | 503 | all workers are busy; `Retry-After` says when to come back |
//!
//! No answer repeats the text or data of a request, and none is cached.

use axum::response::{IntoResponse, Response};
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;

pub(crate) use qr_options::fault::{Code, Fault};
use qr_options::options::Format;

/// Why a request gets no picture.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Refusal {
    /// Parameters are wrong.
    Parameters(Vec<Fault>),
    /// The parameters are right each by itself, but there is no such picture, or nobody could read it.
    Unprocessable(Vec<Fault>),
    /// The route answers other methods, which are listed.
    Method(&'static str),
    /// `Accept` has none of the route's formats.
    NotAcceptable,
    /// The body did not arrive in time.
    SlowBody,
    /// The body has more bytes than the route takes.
    LongBody {
        /// The most bytes.
        limit: usize,
    },
    /// The body has none of these media types.
    MediaType(&'static str),
    /// The body is cut off or not what its media type says.
    Body(String),
    /// No such path.
    NotFound,
    /// No such format, kind ...: what it is, and which there are.
    NoSuch(&'static str, String),
    /// All workers are busy.
    Busy,
    /// A defect, which is in the log.
    Internal,
}

/// A problem document (RFC 9457).
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// The kind of problem, where it is described.
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    status: u16,
    detail: String,
    /// Every fault of the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    faults: Vec<Fault>,
}

impl Refusal {
    /// A path that ends with another extension than those of the formats.
    pub(crate) fn no_format() -> Self {
        Refusal::NoSuch("format", Format::NAMES.join(", "))
    }

    /// The status, where the kind of problem is described, its title, and what exactly is wrong.
    fn described(&self) -> (StatusCode, &'static str, &'static str, String) {
        use StatusCode as Status;
        match self {
            Refusal::Parameters(faults) => {
                let kind = "/v1/docs#invalid-parameters";
                (Status::BAD_REQUEST, kind, "Invalid parameters", summary(faults))
            }
            Refusal::Unprocessable(faults) => {
                let kind = "/v1/docs#no-such-picture";
                (Status::UNPROCESSABLE_ENTITY, kind, "No such picture", summary(faults))
            }
            Refusal::Method(allowed) => {
                let detail = format!("use {allowed}");
                (Status::METHOD_NOT_ALLOWED, "/v1/docs#method", "Method not allowed", detail)
            }
            Refusal::NotAcceptable => {
                let types = Format::ALL.map(|format| format.content_type());
                let detail = format!("Accept allows none of {}", types.join(", "));
                (Status::NOT_ACCEPTABLE, "/v1/docs#not-acceptable", "Not acceptable", detail)
            }
            Refusal::SlowBody => {
                let detail = "the body did not arrive in time".to_owned();
                (Status::REQUEST_TIMEOUT, "/v1/docs#body", "The body took too long", detail)
            }
            Refusal::LongBody { limit } => {
                let detail = format!("the body has more than {limit} bytes");
                (Status::PAYLOAD_TOO_LARGE, "/v1/docs#body", "The body is too long", detail)
            }
            Refusal::MediaType(allowed) => {
                let detail = format!("send {allowed}");
                (Status::UNSUPPORTED_MEDIA_TYPE, "/v1/docs#body", "Unsupported media type", detail)
            }
            Refusal::Body(detail) => {
                (Status::BAD_REQUEST, "/v1/docs#body", "The body cannot be read", detail.clone())
            }
            Refusal::NotFound => {
                let detail = "there is no such path; /v1/openapi.json lists all".to_owned();
                (Status::NOT_FOUND, "/v1/docs#not-found", "Not found", detail)
            }
            Refusal::NoSuch(what, known) => {
                let detail = format!("there is no such {what}; use {known}");
                (Status::NOT_FOUND, "/v1/docs#not-found", "Not found", detail)
            }
            Refusal::Busy => {
                let detail = "all workers are busy; try again in a second".to_owned();
                (Status::SERVICE_UNAVAILABLE, "/v1/docs#busy", "Busy", detail)
            }
            Refusal::Internal => {
                let detail = "the picture could not be made".to_owned();
                (Status::INTERNAL_SERVER_ERROR, "/v1/docs#internal", "Internal error", detail)
            }
        }
    }
}

fn summary(faults: &[Fault]) -> String {
    match faults {
        [fault] => format!("{}: {}", fault.parameter, fault.detail),
        faults => format!("{} faults", faults.len()),
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, kind, title, detail) = self.described();
        let allow = if let Refusal::Method(allowed) = self { Some(allowed) } else { None };
        let is_busy = self == Refusal::Busy;
        let faults = match self {
            Refusal::Parameters(faults) | Refusal::Unprocessable(faults) => faults,
            _ => Vec::new(),
        };
        let problem = Problem { kind, title, status: status.as_u16(), detail, faults };
        // A struct of strings and numbers always serialises.
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        let mut response = Response::new(body.into());
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(allowed) = allow {
            headers.insert(ALLOW, HeaderValue::from_static(allowed));
        }
        if is_busy {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
