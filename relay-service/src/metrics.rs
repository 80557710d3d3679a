//! The service's metrics. The legacy relay has the same `relay_*`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::{Method, StatusCode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use service_kit::metrics::{ProcessCollector, encode};
use strum::{IntoStaticStr, VariantArray};

/// Histogram bounds in seconds, wide enough for times that people take.
const BUCKETS: [f64; 10] = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0, 300.0, 1800.0];

/// How a pair ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub(crate) enum End {
    Whole,
    SenderLeft,
    ReceiversLeft,
    /// Cut by the service: the drain timeout was over, or the service failed.
    Cut,
}

/// How the wait of a client without a partner ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub(crate) enum Unpaired {
    Left,
    Expired,
    /// The service shuts down.
    Closed,
}

type Label<T> = [(&'static str, T); 1];

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
    requests: Family<(Label<&'static str>, Label<u16>), Counter>,
    pairs: Family<Label<&'static str>, Counter>,
    unpaired: Family<Label<&'static str>, Counter>,
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
        // `rate` misses a series' first value, so each begins at 0.
        for end in End::VARIANTS {
            drop(shared.pairs.get_or_create(&[("end", end.into_str())]));
        }
        for end in Unpaired::VARIANTS {
            drop(shared.unpaired.get_or_create(&[("end", end.into_str())]));
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
        let help = "Keys that wait for a partner";
        registry.register("relay_waiting_keys", help, self.waiting.clone());
        let help = "Pairs that are established";
        registry.register("relay_established_pairs", help, self.established.clone());
        let help = "1 once the service has been told to end, else 0";
        registry.register("relay_leaving", help, self.leaving.clone());
        registry.register_collector(Box::new(ProcessCollector));
    }
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Metrics(Arc::new(Shared::new()))
    }

    /// Metrics of a new pair.
    pub(crate) fn pair(&self) -> PairMetrics {
        PairMetrics { shared: Arc::clone(&self.0), received: AtomicU64::new(0) }
    }

    /// Counts an answer. A method that the relay does not allow counts as `other`.
    pub(crate) fn answered(&self, method: &Method, status: StatusCode) {
        let method = match *method {
            Method::GET => "GET",
            Method::PUT => "PUT",
            Method::POST => "POST",
            Method::OPTIONS => "OPTIONS",
            _ => "other",
        };
        let labels = ([("method", method)], [("status", status.as_u16())]);
        self.0.requests.get_or_create(&labels).inc();
    }

    pub(crate) fn unpaired(&self, end: Unpaired) {
        self.0.unpaired.get_or_create(&[("end", end.into_str())]).inc();
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
    /// Counts the end of the pair: `pairing` is the time from its first client to its last, `took` the time from then
    /// on.
    pub(crate) fn ended(&self, end: End, pairing: Duration, took: Duration) {
        self.shared.pairs.get_or_create(&[("end", end.into_str())]).inc();
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
