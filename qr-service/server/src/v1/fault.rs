//! Error answers: problem documents (RFC 9457) that list every fault of a request.
//!
//! | status | when |
//! | --- | --- |
//! | 400 | parameters that are unknown, repeated, malformed, out of range or contradictory |
//! | 404 | a path, a format or a payload that does not exist |
//! | 405, 406, 408, 413, 415 | the method, `Accept`, a slow body, a long body, its media type |
//! | 422 | data that does not fit the symbol, and pictures that cannot be read |
//! | 503 | all workers are busy; `Retry-After` says when to try again |
//!
//! No error answer repeats the text or data of a request, and none is cached.

use axum::response::{IntoResponse, Response};
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;

pub(crate) use qr_options::fault::{Code, Fault};
use qr_options::options::Format;

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Refusal {
    /// Parameters are wrong.
    Parameters(Vec<Fault>),
    /// Each parameter is right by itself, but the picture cannot be made, or no decoder could read it.
    Unprocessable(Vec<Fault>),
    /// The route does not answer this method, only the ones listed.
    Method(&'static str),
    /// `Accept` allows none of the route's formats.
    NotAcceptable,
    /// The body did not arrive in time.
    SlowBody,
    /// The body has more bytes than the route accepts.
    LongBody {
        /// The most bytes.
        limit: usize,
    },
    /// The body has another media type than the ones listed.
    MediaType(&'static str),
    /// The body is cut off, or does not match its media type.
    Body(String),
    /// No such path.
    NotFound,
    /// There is no such format, kind or the like: the word for it, and the names that exist.
    NoSuch(&'static str, String),
    /// All workers are busy.
    Busy,
    /// A defect of the service. The log has the details.
    Internal,
}

/// A problem document (RFC 9457).
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// The kind of problem, as a link to its description.
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
    /// The refusal of a path whose extension is not a format.
    pub(crate) fn no_format() -> Self {
        Refusal::NoSuch("format", Format::NAMES.join(", "))
    }

    /// The status, the link to the description of the kind of problem, and its title.
    fn kind(&self) -> (u16, &'static str, &'static str) {
        match self {
            Refusal::Parameters(_) => (400, "/v1/docs#invalid-parameters", "Invalid parameters"),
            Refusal::Unprocessable(_) => (422, "/v1/docs#no-such-picture", "No such picture"),
            Refusal::Method(_) => (405, "/v1/docs#method", "Method not allowed"),
            Refusal::NotAcceptable => (406, "/v1/docs#not-acceptable", "Not acceptable"),
            Refusal::SlowBody => (408, "/v1/docs#body", "The body took too long"),
            Refusal::LongBody { .. } => (413, "/v1/docs#body", "The body is too long"),
            Refusal::MediaType(_) => (415, "/v1/docs#body", "Unsupported media type"),
            Refusal::Body(_) => (400, "/v1/docs#body", "The body cannot be read"),
            Refusal::NotFound | Refusal::NoSuch(..) => (404, "/v1/docs#not-found", "Not found"),
            Refusal::Busy => (503, "/v1/docs#busy", "Busy"),
            Refusal::Internal => (500, "/v1/docs#internal", "Internal error"),
        }
    }

    /// The problem in words.
    fn detail(&self) -> String {
        match self {
            Refusal::Parameters(faults) | Refusal::Unprocessable(faults) => summary(faults),
            Refusal::Method(allowed) => format!("use {allowed}"),
            Refusal::NotAcceptable => {
                let types = Format::ALL.map(|format| format.content_type());
                format!("Accept allows none of {}", types.join(", "))
            }
            Refusal::SlowBody => "the body did not arrive in time".to_owned(),
            Refusal::LongBody { limit } => format!("the body has more than {limit} bytes"),
            Refusal::MediaType(allowed) => format!("send {allowed}"),
            Refusal::Body(detail) => detail.clone(),
            Refusal::NotFound => {
                "there is no such path; /v1/openapi.json lists all paths".to_owned()
            }
            Refusal::NoSuch(what, known) => format!("there is no such {what}; use {known}"),
            Refusal::Busy => "all workers are busy; try again in a second".to_owned(),
            Refusal::Internal => "the picture could not be made".to_owned(),
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
        let ((status, kind, title), detail) = (self.kind(), self.detail());
        let allow = if let Refusal::Method(allowed) = self { Some(allowed) } else { None };
        let is_busy = self == Refusal::Busy;
        let faults = match self {
            Refusal::Parameters(faults) | Refusal::Unprocessable(faults) => faults,
            _ => Vec::new(),
        };
        let problem = Problem { kind, title, status, detail, faults };
        // A struct of strings and numbers always serialises.
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = [(CONTENT_TYPE, "application/problem+json"), (CACHE_CONTROL, "no-store")];
        let mut response = (status, headers, body).into_response();
        let more = [allow.map(|it| (ALLOW, it)), is_busy.then_some((RETRY_AFTER, "1"))];
        for (name, value) in more.into_iter().flatten() {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}
