//! The state of a connection: its requests in flight, and since when it has been idle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::client_end::ClientEnd;
use super::metrics::Connections;

/// The state of a connection, shared by its task, its requests and the accept loop.
#[derive(Debug)]
pub(super) struct Activity {
    pub(super) connected: Instant,
    /// Requests whose answers have not ended.
    in_flight: AtomicUsize,
    /// When the connection became idle, in milliseconds after `connected`.
    idle_since_ms: AtomicU64,
    pub(super) has_had_request: AtomicBool,
    /// The client may be sending: a request's body, or bytes after a request.
    pub(super) may_send: AtomicBool,
    /// The last request was answered without its whole body.
    pub(super) is_unread: AtomicBool,
    /// The connection is closed for writing, and what the client still sends is discarded.
    pub(super) is_lingering: AtomicBool,
    /// An answer's body failed, so the client must be able to tell that the answer is incomplete.
    pub(super) is_cut: AtomicBool,
    /// Handed to requests; `None` if half-closed clients get their answers anyway.
    pub(super) end: Option<ClientEnd>,
    pub(super) stop: Notify,
    pub(super) metrics: Connections,
}

impl Activity {
    pub(super) fn new(metrics: Connections, half_close: bool) -> Arc<Self> {
        Arc::new(Activity {
            connected: Instant::now(),
            in_flight: AtomicUsize::new(0),
            idle_since_ms: AtomicU64::new(0),
            has_had_request: AtomicBool::new(false),
            may_send: AtomicBool::new(false),
            is_unread: AtomicBool::new(false),
            is_lingering: AtomicBool::new(false),
            is_cut: AtomicBool::new(false),
            end: (!half_close).then(ClientEnd::default),
            stop: Notify::new(),
            metrics,
        })
    }

    /// Closes the connection after its current requests, or after its first one if it has had none.
    pub(super) fn stop(&self) {
        self.stop.notify_one();
    }

    /// Since when the connection has been idle; `None` while it has a request in flight.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let since = || Duration::from_millis(self.idle_since_ms.load(Ordering::Relaxed));
        (self.in_flight.load(Ordering::Acquire) == 0).then(|| self.connected + since())
    }
}

/// A request in flight, until its answer has ended or was dropped.
pub(super) struct InFlight(pub(super) Arc<Activity>);

impl InFlight {
    pub(super) fn begin(activity: &Arc<Activity>) -> Self {
        activity.in_flight.fetch_add(1, Ordering::Relaxed);
        activity.has_had_request.store(true, Ordering::Relaxed);
        activity.metrics.in_flight.inc();
        InFlight(Arc::clone(activity))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let since = self.0.connected.elapsed().as_millis();
        self.0.idle_since_ms.store(since.try_into().unwrap_or(u64::MAX), Ordering::Relaxed);
        self.0.in_flight.fetch_sub(1, Ordering::Release);
        self.0.metrics.in_flight.dec();
    }
}
