//! Error answers: problem documents (RFC 9457) that list every fault of a request.
//!
//! | status | when |
//! | --- | --- |
//! | 400 | parameters that are unknown, repeated, malformed, out of range or contradictory |
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

/// Every kind of problem, by the fragment of its type, and what it means.
pub(crate) const PROBLEMS: [(&str, &str); 8] = [
    (
        "invalid-parameters",
        "400. Parameters are unknown, repeated, missing, malformed, out of range or contradictory.",
    ),
    ("no-such-picture", "422. The data do not fit the symbol, or nobody could read the picture."),
    ("method", "405. The header Allow lists the methods."),
    ("not-acceptable", "406. Accept has none of the formats."),
    ("body", "400, 408, 413, 415. The body is damaged, slow, too long, or of another media type."),
    ("not-found", "404. There is no such path."),
    ("busy", "503. All workers are busy; Retry-After says when to come back."),
    ("internal", "500. A defect of the service, which is in its log."),
];

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
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Refusal::Parameters(_) | Refusal::Body(_) => StatusCode::BAD_REQUEST,
            Refusal::Unprocessable(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Refusal::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Refusal::NotAcceptable => StatusCode::NOT_ACCEPTABLE,
            Refusal::SlowBody => StatusCode::REQUEST_TIMEOUT,
            Refusal::LongBody { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::MediaType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Refusal::NotFound => StatusCode::NOT_FOUND,
            Refusal::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Refusal::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn kind(&self) -> (&'static str, &'static str) {
        match self {
            Refusal::Parameters(_) => ("/v1/docs#invalid-parameters", "Invalid parameters"),
            Refusal::Unprocessable(_) => ("/v1/docs#no-such-picture", "No such picture"),
            Refusal::Method(_) => ("/v1/docs#method", "Method not allowed"),
            Refusal::NotAcceptable => ("/v1/docs#not-acceptable", "Not acceptable"),
            Refusal::SlowBody => ("/v1/docs#body", "The body took too long"),
            Refusal::LongBody { .. } => ("/v1/docs#body", "The body is too long"),
            Refusal::MediaType(_) => ("/v1/docs#body", "Unsupported media type"),
            Refusal::Body(_) => ("/v1/docs#body", "The body cannot be read"),
            Refusal::NotFound => ("/v1/docs#not-found", "Not found"),
            Refusal::Busy => ("/v1/docs#busy", "Busy"),
            Refusal::Internal => ("/v1/docs#internal", "Internal error"),
        }
    }

    fn detail(&self) -> String {
        match self {
            Refusal::Parameters(faults) | Refusal::Unprocessable(faults) => match &faults[..] {
                [fault] => format!("{}: {}", fault.parameter, fault.detail),
                faults => format!("{} faults", faults.len()),
            },
            Refusal::Method(allowed) => format!("use {allowed}"),
            Refusal::NotAcceptable => {
                let types = crate::options::Format::ALL.map(|format| format.content_type());
                format!("Accept allows none of {}", types.join(", "))
            }
            Refusal::SlowBody => "the body did not arrive in time".to_owned(),
            Refusal::LongBody { limit } => format!("the body has more than {limit} bytes"),
            Refusal::MediaType(allowed) => format!("send {allowed}"),
            Refusal::Body(detail) => detail.clone(),
            Refusal::NotFound => "there is no such path; /v1/openapi.json lists all".to_owned(),
            Refusal::Busy => "all workers are busy; try again in a second".to_owned(),
            Refusal::Internal => "the picture could not be made".to_owned(),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (kind, title) = self.kind();
        let (status, detail) = (self.status(), self.detail());
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
