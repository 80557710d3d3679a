//! The service's metrics, with Prometheus' naming and base units. The legacy relay has the same `relay_*`.
//!
//! | metric | labels |
//! | --- | --- |
//! | `http_requests_total` | method, status; the status that an answer began with |
//! | `relay_waiting_keys`, `relay_established_pairs` | |
//! | `relay_leaving` | 1 once it was told to end: what then goes away has not crashed |
//! | `relay_pairs_total` | end: whole, sender_left, receivers_left, cut |
//! | `relay_unpaired_total` | end: left, expired, closed |
//! | `relay_pairing_seconds` | from the first of a pair's clients to the last |
//! | `relay_stream_seconds` | from then to the end |
//! | `relay_received_bytes_total` | |
//! | `process_*` | see `service_kit::metrics` |

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::{Method, StatusCode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use service_kit::label_value;
use service_kit::metrics::{ProcessCollector, encode};

/// Bounds in seconds, for times that people take.
const BUCKETS: [f64; 10] = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0, 300.0, 1800.0];

/// How a pair ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum End {
    Whole,
    SenderLeft,
    ReceiversLeft,
    /// By the server: its time to drain was over, or it failed.
    Cut,
}

impl End {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            End::Whole => "whole",
            End::SenderLeft => "sender_left",
            End::ReceiversLeft => "receivers_left",
            End::Cut => "cut",
        }
    }
}

/// How the wait of one who never had a partner ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Unpaired {
    Left,
    Expired,
    /// The service ends.
    Closed,
}

impl Unpaired {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Unpaired::Left => "left",
            Unpaired::Expired => "expired",
            Unpaired::Closed => "closed",
        }
    }
}

/// A method as a label; all that the relay does not allow are `other`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct MethodLabel(&'static str);

impl MethodLabel {
    fn of(method: &Method) -> Self {
        MethodLabel(match *method {
            Method::GET => "GET",
            Method::PUT => "PUT",
            Method::POST => "POST",
            Method::OPTIONS => "OPTIONS",
            _ => "other",
        })
    }

    fn as_str(&self) -> &'static str {
        self.0
    }
}

label_value!(End, MethodLabel, Unpaired);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: MethodLabel,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PairLabels {
    end: End,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct UnpairedLabels {
    end: Unpaired,
}

/// Counts of the service.
pub(crate) struct Metrics(Arc<Shared>);

/// Counts of one pair.
pub(crate) struct PairMetrics {
    shared: Arc<Shared>,
    received: AtomicU64,
}

/// All clones of a counter are the same.
struct Shared {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    pairs: Family<PairLabels, Counter>,
    unpaired: Family<UnpairedLabels, Counter>,
    pairing: Histogram,
    stream: Histogram,
    bytes: Counter,
    waiting: Gauge,
    established: Gauge,
    leaving: Gauge,
}

impl Shared {
    fn new() -> Self {
        let mut shared = Shared {
            registry: Registry::default(),
            requests: Family::default(),
            pairs: Family::default(),
            unpaired: Family::default(),
            pairing: Histogram::new(BUCKETS),
            stream: Histogram::new(BUCKETS),
            bytes: Counter::default(),
            waiting: Gauge::default(),
            established: Gauge::default(),
            leaving: Gauge::default(),
        };
        // From 0 on: `rate` misses a series' first value.
        for end in [End::Whole, End::SenderLeft, End::ReceiversLeft, End::Cut] {
            drop(shared.pairs.get_or_create(&PairLabels { end }));
        }
        for end in [Unpaired::Left, Unpaired::Expired, Unpaired::Closed] {
            drop(shared.unpaired.get_or_create(&UnpairedLabels { end }));
        }
        shared.register();
        shared
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("http_requests", "Answers begun", self.requests.clone());
        registry.register("relay_pairs", "Pairs that have ended", self.pairs.clone());
        let help = "Clients whose wait ended without a partner";
        registry.register("relay_unpaired", help, self.unpaired.clone());
        let help = "Time from the first client of a pair to the last";
        registry.register_with_unit("relay_pairing", help, Unit::Seconds, self.pairing.clone());
        let help = "Time from a pair's last client to its end";
        registry.register_with_unit("relay_stream", help, Unit::Seconds, self.stream.clone());
        let help = "Bytes taken from senders of pairs";
        registry.register_with_unit("relay_received", help, Unit::Bytes, self.bytes.clone());
        let help = "Keys on which somebody waits";
        registry.register("relay_waiting_keys", help, self.waiting.clone());
        let help = "Pairs under way";
        registry.register("relay_established_pairs", help, self.established.clone());
        let help = "Whether it was told to end";
        registry.register("relay_leaving", help, self.leaving.clone());
        registry.register_collector(Box::new(ProcessCollector));
    }
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Metrics(Arc::new(Shared::new()))
    }

    /// Those of a new pair.
    pub(crate) fn pair(&self) -> PairMetrics {
        PairMetrics { shared: Arc::clone(&self.0), received: AtomicU64::new(0) }
    }

    pub(crate) fn answered(&self, method: &Method, status: StatusCode) {
        let labels = RequestLabels { method: MethodLabel::of(method), status: status.as_u16() };
        self.0.requests.get_or_create(&labels).inc();
    }

    pub(crate) fn unpaired(&self, end: Unpaired) {
        self.0.unpaired.get_or_create(&UnpairedLabels { end }).inc();
    }

    /// The OpenMetrics text, with the sizes of the pairing as they are now.
    pub(crate) fn encode(
        &self,
        (waiting, established): (usize, usize),
        is_leaving: bool,
    ) -> Result<String, std::fmt::Error> {
        self.0.waiting.set(waiting as i64);
        self.0.established.set(established as i64);
        self.0.leaving.set(i64::from(is_leaving));
        encode(&self.0.registry)
    }
}

impl PairMetrics {
    /// The pair has ended, `took` after its last client came, who was `pairing` later than its first.
    pub(crate) fn ended(&self, end: End, pairing: Duration, took: Duration) {
        self.shared.pairs.get_or_create(&PairLabels { end }).inc();
        self.shared.pairing.observe(pairing.as_secs_f64());
        self.shared.stream.observe(took.as_secs_f64());
    }

    pub(crate) fn received(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
        self.shared.bytes.inc_by(bytes as u64);
    }

    /// Bytes that the pair's sender has sent.
    pub(crate) fn received_bytes(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }
}
