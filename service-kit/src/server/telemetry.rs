//! Logs: one JSON object per line on standard output, with the same fields as the legacy app's.
//!
//! A line has `time` (RFC 3339, UTC), `level`, `msg`, `service` and the event's fields. A separate thread writes the
//! lines. If nobody reads the pipe and it is full, only that thread waits; further lines are dropped and counted.

use std::io::Write as _;
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tracing::{Event, Level, Subscriber};
use tracing_serde::fields::AsMap as _;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::Error;

/// Lines that may wait to be written: half a megabyte.
const WAITING: usize = 2048;
/// How long the end of a program waits for its last lines.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Lines that were not written.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Log lines of this process that were dropped because standard output was not read in time.
pub(crate) fn dropped_lines() -> u64 {
    DROPPED.load(Ordering::Relaxed)
}

/// When dropped, waits up to a second until the last lines are written.
#[must_use = "dropped at the end of the program, so that its last lines are written"]
#[derive(Debug)]
pub struct Logging(SyncSender<Message>);

#[derive(Debug)]
enum Message {
    Line(String),
    /// The writer drops this once every line before it has been written.
    End(#[expect(dead_code, reason = "dropped, never sent")] Sender<()>),
}

impl Drop for Logging {
    fn drop(&mut self) {
        let (written, all_written) = channel();
        if self.0.try_send(Message::End(written)).is_ok() {
            let _ = all_written.recv_timeout(LAST_LINES);
        }
    }
}

/// Writes each event as one line of JSON.
struct JsonLines {
    service: &'static str,
    sender: SyncSender<Message>,
}

impl<S: Subscriber> Layer<S> for JsonLines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let time = humantime::format_rfc3339_micros(SystemTime::now()).to_string();
        let level = event.metadata().level().as_str().to_ascii_lowercase();
        let mut line = json!({"time": time, "level": level, "service": self.service});
        if let (Some(line), Ok(Value::Object(fields))) =
            (line.as_object_mut(), serde_json::to_value(event.field_map()))
        {
            line.extend(fields);
            let message = line.remove("message").unwrap_or_default();
            line.insert("msg".to_owned(), message);
        }
        if self.sender.try_send(Message::Line(format!("{line}\n"))).is_err() {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Starts logging for the whole process, with `service` in each line: events of `level` and above, and the place of
/// each panic. Keep the returned value until the program ends: dropping it waits for the last lines. Fails if logging
/// has already been started.
pub fn init(service: &'static str, level: Level) -> Result<Logging, Error> {
    let (sender, messages) = sync_channel(WAITING);
    let lines = JsonLines { service, sender: sender.clone() };
    let filtered = lines.with_filter(LevelFilter::from_level(level));
    tracing_subscriber::registry().with(filtered).try_init()?;
    std::panic::set_hook(Box::new(log_panic));
    // Never joined: a pipe that nobody reads must not hold up the program's end.
    std::thread::spawn(move || {
        for message in messages {
            if let Message::Line(line) = message {
                // The service goes on if the log cannot be written.
                let _ = std::io::stdout().write_all(line.as_bytes());
            }
        }
    });
    Ok(Logging(sender))
}

/// Logs only where a panic happened. Its message, which the default hook prints, may quote a client's text.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(place, "panic");
}
