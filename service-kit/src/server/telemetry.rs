//! Logs: one JSON object per line on standard output, with the same fields as the legacy app's.
//!
//! A line has `time` (RFC 3339, UTC), `level`, `msg`, `service` and the event's fields.
//!
//! A thread of its own writes the lines. If nobody reads them, so that a pipe is full, it waits, and no
//! request does: further lines are dropped and counted.

use std::fmt;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

/// Lines that may wait to be written: half a megabyte.
const WAITING: usize = 2048;
/// Lines are written together, up to so many bytes: a pipe takes them all or none (`PIPE_BUF`), so that the end of a
/// program cuts no line.
const WRITTEN_BYTES: usize = 4096;
/// How long the end of a program waits for its last lines.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Lines that were not written.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Log lines of this process that were dropped, since nobody read the ones before.
pub(crate) fn dropped_lines() -> u64 {
    DROPPED.load(Ordering::Relaxed)
}

/// Waits for the last lines when it is dropped, for a second at most.
#[must_use = "dropped at the end of the program, so that its last lines are written"]
#[derive(Debug)]
pub struct Logging {
    sender: SyncSender<Message>,
}

#[derive(Debug)]
enum Message {
    Line(String),
    /// Everything before this has been written once it is answered.
    End(SyncSender<()>),
}

impl Drop for Logging {
    fn drop(&mut self) {
        let (written, all_written) = sync_channel(1);
        if self.sender.try_send(Message::End(written)).is_ok() {
            let _ = all_written.recv_timeout(LAST_LINES);
        }
    }
}

/// Writes lines until every sender is gone. The service goes on if the log cannot be written.
fn write_lines(messages: &Receiver<Message>) {
    let mut lines = String::new();
    while let Ok(first) = messages.recv() {
        let mut ended = None;
        let mut next = Some(first);
        while let Some(message) = next {
            match message {
                Message::Line(line) => {
                    if lines.len() + line.len() > WRITTEN_BYTES {
                        write_out(&mut lines);
                    }
                    lines.push_str(&line);
                }
                Message::End(written) => ended = Some(written),
            }
            next = if ended.is_none() { messages.try_recv().ok() } else { None };
        }
        write_out(&mut lines);
        if let Some(written) = ended {
            let _ = written.try_send(());
        }
    }
}

fn write_out(lines: &mut String) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(lines.as_bytes()).and_then(|()| out.flush());
    lines.clear();
}

/// Writes each event as one line of JSON.
struct JsonLines {
    service: &'static str,
    sender: SyncSender<Message>,
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
        let line = format!("{}\n", Value::Object(fields.0));
        if self.sender.try_send(Message::Line(line)).is_err() {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Starts logging events of `level` and above for the whole process, with `service` in each line.
///
/// # Errors
/// If logging has already been started.
pub fn init(service: &'static str, level: tracing::Level) -> Result<Logging, TryInitError> {
    let filter = LevelFilter::from_level(level);
    let (sender, messages) = sync_channel(WAITING);
    let lines = JsonLines { service, sender: sender.clone() };
    tracing_subscriber::registry().with(lines.with_filter(filter)).try_init()?;
    // Never joined: a pipe that nobody reads must not hold up the program's end.
    std::thread::spawn(move || write_lines(&messages));
    // The default hook prints the panic's message, which may quote a client's text.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "panic");
    }));
    Ok(Logging { sender })
}
