//! Logs: one JSON object a line on standard output, with the same fields as the legacy app's.
//!
//! `time` (RFC 3339, UTC), `level`, `msg`, `service`, and for an access line `request_id`,
//! `trace_id` (where the request has a traceparent), `route`, `method`, `status`,
//! `duration_seconds`. The text of a request is never among them, nor its query.

use std::fmt;
use std::io::Write as _;
use std::time::{Duration, SystemTime};

use http::{HeaderValue, StatusCode};
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{EnvFilter, Layer};

/// Which requests have a line in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum AccessLog {
    /// None.
    Off,
    /// Those answered with 500 or above.
    Errors,
    /// All.
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

/// One line of the access log.
pub(crate) struct Access<'a> {
    pub(crate) request_id: &'a str,
    pub(crate) trace_id: Option<&'a str>,
    pub(crate) route: &'static str,
    pub(crate) method: &'static str,
    pub(crate) status: u16,
    pub(crate) duration: Duration,
}

impl Access<'_> {
    pub(crate) fn log(&self) {
        tracing::info!(
            request_id = self.request_id,
            trace_id = self.trace_id,
            route = self.route,
            method = self.method,
            status = self.status,
            duration_seconds = self.duration.as_secs_f64(),
            "request"
        );
    }
}

/// The trace id of a traceparent header (W3C Trace Context section 3.2), where it is valid.
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

/// Writes each event as a line of JSON.
struct JsonLines;

/// Fields of an event on their way to JSON.
struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, field: &Field, value: impl Into<Value>) {
        let name = if field.name() == "message" { "msg" } else { field.name() };
        self.0.insert(name.to_owned(), value.into());
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}"));
    }
}

impl<S: Subscriber> Layer<S> for JsonLines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields(Map::new());
        let time = humantime::format_rfc3339_micros(SystemTime::now()).to_string();
        fields.0.insert("time".to_owned(), time.into());
        let level = event.metadata().level().as_str().to_ascii_lowercase();
        fields.0.insert("level".to_owned(), level.into());
        fields.0.insert("service".to_owned(), "qr-service".into());
        event.record(&mut fields);
        // One write a line, so that lines of several threads never mix. A log that cannot be
        // written is no reason to stop serving.
        let line = format!("{}\n", Value::Object(fields.0));
        let _ = std::io::stdout().lock().write_all(line.as_bytes());
    }
}

/// Starts logging at `level`, for the whole process.
///
/// # Errors
/// Where logging was started before.
pub fn init(level: tracing::Level) -> Result<(), TryInitError> {
    let filter = EnvFilter::new(level.as_str());
    tracing_subscriber::registry().with(JsonLines.with_filter(filter)).try_init()?;
    // The default hook prints the panic's message, which may quote a text.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "panic");
    }));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_valid_traceparent_has_a_trace_id() {
        let id = "4bf92f3577b34da6a3ce929d0e0e4736";
        let header = |s: &str| HeaderValue::from_str(s).unwrap();
        let valid = header(&format!("00-{id}-00f067aa0ba902b7-01"));
        assert_eq!(trace_id(&valid), Some(id));
        for wrong in [
            "",
            "00",
            &format!("ff-{id}-00f067aa0ba902b7-01"),
            &format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
            &format!("00-{}-00f067aa0ba902b7-01", id.to_uppercase()),
            &format!("00-{id}-00f0-01"),
        ] {
            assert_eq!(trace_id(&header(wrong)), None, "{wrong}");
        }
    }
}
