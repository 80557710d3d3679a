//! Logs: one JSON object per line on standard output, with the same fields as the legacy app's.
//!
//! A line has `time` (RFC 3339, UTC), `level`, `msg`, `service` and the event's fields.

use std::fmt;
use std::io::Write as _;
use std::time::SystemTime;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

/// Writes each event as one line of JSON.
struct JsonLines {
    service: &'static str,
}

/// Collects the fields of an event.
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
        fields.0.insert("service".to_owned(), self.service.into());
        event.record(&mut fields);
        // One write per line, so that lines of several threads never mix. The service goes on if
        // the log cannot be written.
        let line = format!("{}\n", Value::Object(fields.0));
        let _ = std::io::stdout().lock().write_all(line.as_bytes());
    }
}

/// Starts logging events of `level` and above for the whole process, with `service` in each line.
///
/// # Errors
/// If logging has already been started.
pub fn init(service: &'static str, level: tracing::Level) -> Result<(), TryInitError> {
    let filter = LevelFilter::from_level(level);
    tracing_subscriber::registry().with(JsonLines { service }.with_filter(filter)).try_init()?;
    // The default hook prints the panic's message, which may quote a client's text.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "panic");
    }));
    Ok(())
}
