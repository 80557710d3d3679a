//! What the metrics of all services have in common.

use prometheus_client::encoding::text;
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
