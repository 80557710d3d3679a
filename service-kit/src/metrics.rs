//! What the metrics of all services have in common.

use std::fmt;

use prometheus_client::encoding::{EncodeLabel, EncodeLabelSet, LabelSetEncoder};
use prometheus_client::encoding::{prometheus_protobuf, text};
use prometheus_client::metrics::histogram::{Histogram, NativeHistogramConfig};
use prometheus_client::registry::Registry;

pub use crate::process_metrics::ProcessCollector;

/// Bounds of all durations, in seconds. From 50 µs up: the libraries' defaults begin at 5 ms and
/// would hide the whole difference between the implementations. The legacy app has the same.
pub const DURATION_BUCKETS: [f64; 15] = [
    0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0,
    2.5,
];
/// Bounds of a picture's size, in bytes.
pub const SIZE_BUCKETS: [f64; 7] = [128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0];

/// All metrics of a registry in the OpenMetrics text format.
pub fn encode(registry: &Registry) -> String {
    let mut text = String::with_capacity(16 * 1024);
    // Writing to a string cannot fail.
    let _ = text::encode(&mut text, registry);
    text
}

/// All metrics of a registry in Prometheus' protobuf format, native histograms among them.
pub fn encode_protobuf(registry: &Registry) -> Vec<u8> {
    // Every registry that can be written as text can be written so.
    prometheus_protobuf::encode_to_vec(registry).unwrap_or_default()
}

/// A histogram with these buckets, and native ones for scrapers that ask for protobuf: each at most
/// a tenth wider than the one before, and so many that one histogram has 2 kB at most.
pub fn histogram(buckets: impl IntoIterator<Item = f64>) -> Histogram {
    Histogram::new_classic_and_native(buckets, NativeHistogramConfig::new(1.1).max_buckets(160))
}

/// A request's id as the label of an exemplar. It is kept in place: ids come on every request.
#[derive(Clone, Copy)]
pub struct RequestId {
    len: u8,
    bytes: [u8; Self::MAX],
}

impl RequestId {
    /// OpenMetrics allows 118 characters; that many in every bucket would double a scrape's size.
    const MAX: usize = 64;

    /// `None` where it is too long for an exemplar.
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

impl EncodeLabelSet for RequestId {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        ("request_id", self.as_str()).encode(encoder.encode_label())
    }
}

/// Makes types with an `as_str` values of labels.
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
