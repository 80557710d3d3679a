//! Buckets, encodings and labels that all services share.

use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder};
use prometheus_client::encoding::{prometheus_protobuf, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, NativeHistogramConfig};
use prometheus_client::registry::Registry;

pub use super::distribution::{Distribution, MAX_BUCKETS, NATIVE};
pub use super::per_thread::PerThread;
pub use super::process_metrics::ProcessCollector;

pub use crate::DURATION_BUCKETS;
/// Bounds of a picture's size, in bytes.
pub const SIZE_BUCKETS: [f64; 7] = [128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0];

/// Encodes a registry in the OpenMetrics text format.
///
/// # Errors
/// If a metric cannot be encoded.
pub fn encode(registry: &Registry) -> Result<String, fmt::Error> {
    let mut text = String::with_capacity(16 * 1024);
    text::encode(&mut text, registry)?;
    Ok(text)
}

/// Adds exemplars to the buckets of one histogram in a text by [`encode`]; the library takes them from its own
/// histograms only. `exemplars` has an item for each bucket of each series, in the text's order.
pub fn add_exemplars(
    text: &str,
    histogram: &str,
    exemplars: impl IntoIterator<Item = Option<(RequestId, f64)>>,
) -> String {
    let mut exemplars = exemplars.into_iter();
    let mut with = String::with_capacity(text.len() * 2);
    for line in text.lines() {
        with.push_str(line);
        let rest = line.strip_prefix(histogram);
        if rest.is_some_and(|rest| rest.starts_with("_bucket{"))
            && let Some((id, value)) = exemplars.next().flatten()
        {
            with.push_str(" # {request_id=\"");
            for character in id.as_str().chars() {
                // Request ids are visible ASCII, so no line ends within one.
                if matches!(character, '"' | '\\') {
                    with.push('\\');
                }
                with.push(character);
            }
            let _ = write!(with, "\"}} {value}");
        }
        with.push('\n');
    }
    with
}

/// Encodes a registry in Prometheus' protobuf format, native histograms included.
///
/// # Errors
/// If a metric cannot be encoded.
pub fn encode_protobuf(registry: &Registry) -> Result<Vec<u8>, fmt::Error> {
    // Encoding to memory fails only where a metric does, so the library's error says no more.
    prometheus_protobuf::encode_to_vec(registry).map_err(|_| fmt::Error)
}

/// What a connection waits for when it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The next request.
    Idle,
    /// The rest of a request's head; on a new connection, all of it.
    Head,
    /// The client, to read its answer.
    Answer,
}

impl Phase {
    fn as_str(self) -> &'static str {
        match self {
            Phase::Idle => "idle",
            Phase::Head => "head",
            Phase::Answer => "answer",
        }
    }
}

crate::label_value!(Phase);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PhaseLabels {
    phase: Phase,
}

/// Requests in flight: every request counts up and down, so each thread does it for itself. A request that another
/// thread ends than began it makes one thread's number too high and the other's too low, and the sum right.
#[derive(Clone, Debug, Default)]
pub(super) struct InFlight(Arc<PerThread<AtomicI64>>);

impl InFlight {
    pub(super) fn add(&self, more: i64) {
        self.0.mine().fetch_add(more, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> i64 {
        self.0.all().map(|thread| thread.load(Ordering::Relaxed)).sum()
    }
}

impl EncodeMetric for InFlight {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        encoder.encode_gauge(&self.get())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}

/// Metrics of a listener's connections. Clones share the values.
///
/// | metric | labels | |
/// | --- | --- | --- |
/// | `http_connections_open` | | connections that have a place |
/// | `http_connections_refused_total` | | had no place, because none could be closed for them |
/// | `http_connections_shed_total` | phase | closed, so that a new client has a place |
/// | `http_connections_timed_out_total` | phase | closed, because their clients took too long |
/// | `http_requests_in_flight` | | requests read whose answer is not sent yet, one a connection at most |
#[derive(Clone, Debug)]
pub struct Connections {
    pub(super) open: Gauge,
    pub(super) in_flight: InFlight,
    pub(super) refused: Counter,
    shed: Family<PhaseLabels, Counter>,
    timed_out: Family<PhaseLabels, Counter>,
}

impl Default for Connections {
    fn default() -> Self {
        let connections = Connections {
            open: Gauge::default(),
            in_flight: InFlight::default(),
            refused: Counter::default(),
            shed: Family::default(),
            timed_out: Family::default(),
        };
        // `rate` and `increase` miss a series' first value, so each begins at 0.
        for phase in [Phase::Idle, Phase::Head, Phase::Answer] {
            drop(connections.shed.get_or_create(&PhaseLabels { phase }));
            drop(connections.timed_out.get_or_create(&PhaseLabels { phase }));
        }
        connections
    }
}

impl Connections {
    /// Adds these metrics to a registry.
    pub fn register(&self, registry: &mut Registry) {
        let open = self.open.clone();
        registry.register("http_connections_open", "Connections that are open", open);
        let refused = self.refused.clone();
        registry.register("http_connections_refused", "Connections without a place", refused);
        let help = "Connections closed so that a new client has a place";
        registry.register("http_connections_shed", help, self.shed.clone());
        let help = "Connections closed because the client took too long";
        registry.register("http_connections_timed_out", help, self.timed_out.clone());
        let help = "Requests read whose answer is not sent yet";
        registry.register("http_requests_in_flight", help, self.in_flight.clone());
    }

    pub(super) fn shed(&self, phase: Phase) {
        self.shed.get_or_create(&PhaseLabels { phase }).inc();
    }

    pub(super) fn timed_out(&self, phase: Phase) {
        self.timed_out.get_or_create(&PhaseLabels { phase }).inc();
    }
}

/// A histogram with these buckets, and with native buckets for scrapers that ask for protobuf. Each
/// native bucket is at most a tenth wider than the one before; 160 of them keep a histogram below 2 kB.
pub fn histogram(buckets: impl IntoIterator<Item = f64>) -> Histogram {
    Histogram::new_classic_and_native(buckets, NativeHistogramConfig::new(1.1).max_buckets(160))
}

/// A request's id for an exemplar, stored inline: every request makes one, and a heap
/// allocation for each would be slow.
#[derive(Clone, Copy)]
pub struct RequestId {
    len: u8,
    bytes: [u8; Self::MAX],
}

impl RequestId {
    /// OpenMetrics allows 118 characters, but ids of that length would double a scrape's size.
    const MAX: usize = 64;

    /// `None` if the id is too long for an exemplar.
    pub fn new(id: &[u8]) -> Option<Self> {
        let mut bytes = [0; Self::MAX];
        bytes.get_mut(..id.len())?.copy_from_slice(id);
        Some(RequestId { len: u8::try_from(id.len()).ok()?, bytes })
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len.into()]).unwrap_or_default()
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Makes types with an `as_str` method usable as label values.
#[macro_export]
macro_rules! label_value {
    ($($label:ty),*) => {
        $(impl prometheus_client::encoding::EncodeLabelValue for $label {
            fn encode(
                &self,
                encoder: &mut prometheus_client::encoding::LabelValueEncoder<'_>,
            ) -> std::fmt::Result {
                prometheus_client::encoding::EncodeLabelValue::encode(&self.as_str(), encoder)
            }
        })*
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exemplars_stand_at_their_buckets_and_are_escaped() {
        let text = "# TYPE a histogram\na_sum 1\na_bucket{le=\"1\"} 1\na_bucket{le=\"+Inf\"} 1\n\
            ab_bucket{le=\"1\"} 1\na_bucket{le=\"1\",b=\"c\"} 2\n# EOF\n";
        let id = |id: &[u8]| RequestId::new(id).unwrap();
        let exemplars = [Some((id(b"x\"y\\z"), 0.5)), None, Some((id(b"z"), 1e-9))];
        assert_eq!(
            add_exemplars(text, "a", exemplars),
            "# TYPE a histogram\na_sum 1\na_bucket{le=\"1\"} 1 # {request_id=\"x\\\"y\\\\z\"} 0.5\n\
            a_bucket{le=\"+Inf\"} 1\nab_bucket{le=\"1\"} 1\n\
            a_bucket{le=\"1\",b=\"c\"} 2 # {request_id=\"z\"} 0.000000001\n# EOF\n"
        );
    }
}
