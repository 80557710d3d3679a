//! The access log: one line per request, with the fields that docs/logs.md lists. No field contains
//! the text or the query of a request.

use std::time::Duration;

use http::{HeaderValue, StatusCode};

/// The requests that are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum AccessLog {
    Off,
    /// Requests answered with 500 or above.
    Errors,
    All,
}

impl AccessLog {
    /// Whether any request may be logged.
    pub(crate) fn may_log(self) -> bool {
        self != AccessLog::Off
    }

    pub(crate) fn logs(self, status: StatusCode) -> bool {
        match self {
            AccessLog::Off => false,
            AccessLog::Errors => status.is_server_error(),
            AccessLog::All => true,
        }
    }
}

/// This service's side, as the proxy's log names it.
const SIDE: &str = "new";

/// One line of the access log.
pub(crate) struct Access<'a> {
    pub(crate) request_id: &'a str,
    pub(crate) trace_id: Option<&'a str>,
    pub(crate) route: &'static str,
    pub(crate) method: &'static str,
    pub(crate) status: u16,
    pub(crate) duration: Duration,
}

/// tracing fixes the level of an event at compile time, so each level needs its own call.
macro_rules! log_at {
    ($level:ident, $access:expr) => {
        tracing::$level!(
            request_id = $access.request_id,
            trace_id = $access.trace_id,
            route = $access.route,
            method = $access.method,
            status = $access.status,
            duration_seconds = $access.duration.as_secs_f64(),
            side = SIDE,
            "request"
        )
    };
}

impl Access<'_> {
    pub(crate) fn log(&self) {
        if self.status >= 500 {
            log_at!(error, self);
        } else {
            log_at!(info, self);
        }
    }
}

/// The trace id of a traceparent header (W3C Trace Context section 3.2); `None` if the header is invalid.
pub(crate) fn trace_id(header: &HeaderValue) -> Option<&str> {
    let header = header.to_str().ok()?;
    let mut parts = header.split('-');
    let (version, id) = (parts.next()?, parts.next()?);
    let is_hex = |s: &str| s.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let valid = version.len() == 2
        && version != "ff"
        && is_hex(version)
        && id.len() == 32
        && is_hex(id)
        && id.bytes().any(|b| b != b'0')
        && parts.next().is_some_and(|parent| parent.len() == 16 && is_hex(parent));
    valid.then_some(id)
}

#[cfg(test)]
mod tests;
