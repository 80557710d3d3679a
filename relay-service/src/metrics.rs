//! The service's metrics, with Prometheus' naming and base units.
//!
//! | metric | labels |
//! | --- | --- |
//! | `http_requests_total` | method, status; the status that an answer began with |
//! | `relay_waiting_keys`, `relay_established_pairs` | |
//! | `relay_pairs_total` | end: whole, sender_left, receivers_left |
//! | `relay_received_bytes_total` | |
//! | `process_*` | see `service_kit::metrics` |

use http::{Method, StatusCode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use service_kit::label_value;
use service_kit::metrics::{ProcessCollector, encode};

/// How a pair ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum End {
    Whole,
    SenderLeft,
    ReceiversLeft,
}

impl End {
    fn as_str(self) -> &'static str {
        match self {
            End::Whole => "whole",
            End::SenderLeft => "sender_left",
            End::ReceiversLeft => "receivers_left",
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

label_value!(End, MethodLabel);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: MethodLabel,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PairLabels {
    end: End,
}

/// Counts; all clones of a counter are the same.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    pairs: Family<PairLabels, Counter>,
    bytes: Counter,
    waiting: Gauge,
    established: Gauge,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::default();
        let requests = Family::default();
        registry.register("http_requests", "Answers begun", requests.clone());
        let pairs = Family::<PairLabels, Counter>::default();
        registry.register("relay_pairs", "Pairs that have ended", pairs.clone());
        for end in [End::Whole, End::SenderLeft, End::ReceiversLeft] {
            // From 0 on: `rate` misses a series' first value.
            drop(pairs.get_or_create(&PairLabels { end }));
        }
        let bytes = Counter::default();
        let help = "Bytes taken from senders of pairs";
        registry.register_with_unit("relay_received", help, Unit::Bytes, bytes.clone());
        let (waiting, established) = (Gauge::default(), Gauge::default());
        registry.register("relay_waiting_keys", "Keys on which somebody waits", waiting.clone());
        let help = "Pairs under way";
        registry.register("relay_established_pairs", help, established.clone());
        registry.register_collector(Box::new(ProcessCollector));
        Metrics { registry, requests, pairs, bytes, waiting, established }
    }

    pub(crate) fn answered(&self, method: &Method, status: StatusCode) {
        let labels = RequestLabels { method: MethodLabel::of(method), status: status.as_u16() };
        self.requests.get_or_create(&labels).inc();
    }

    pub(crate) fn pair_ended(&self, end: End) {
        self.pairs.get_or_create(&PairLabels { end }).inc();
    }

    pub(crate) fn received(&self, bytes: usize) {
        self.bytes.inc_by(bytes as u64);
    }

    /// The OpenMetrics text, with the sizes of the pairing as they are now.
    pub(crate) fn encode(
        &self,
        waiting: usize,
        established: usize,
    ) -> Result<String, std::fmt::Error> {
        self.waiting.set(waiting as i64);
        self.established.set(established as i64);
        encode(&self.registry)
    }
}
