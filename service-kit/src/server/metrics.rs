//! Buckets, metrics and the encoding that all services share.

use std::fmt;

use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

pub use super::process_metrics::ProcessCollector;

pub use crate::DURATION_BUCKETS;
/// Histogram bounds of a picture's size, in bytes.
pub const SIZE_BUCKETS: [f64; 7] = [128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0];

/// Encodes a registry in the OpenMetrics text format.
pub fn encode(registry: &Registry) -> Result<String, fmt::Error> {
    let mut text = String::with_capacity(16 * 1024);
    text::encode(&mut text, registry)?;
    Ok(text)
}

/// The shape of a request: its method, its path's template, and, separated by commas, `+NAME` for a header that it has and
/// the names of its query parameters.
pub fn shape(method: &str, path: &str, names: &str) -> String {
    let mut names: Vec<&str> = names.split(',').filter(|name| !name.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    let names =
        names.into_iter().map(|it| if it.starts_with('+') { " " } else { " ?" }.to_owned() + it);
    format!("{method} {path}{}", names.collect::<String>())
}

/// The class of an answer, as a label: the request's shape, the status, and the media type without parameters.
pub fn class(shape: &str, status: u16, content_type: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || ".+/_-".contains(c);
    let end = content_type.find(|c| !is_part(c)).unwrap_or(content_type.len());
    format!("{shape} {status} {}", content_type[..end].to_ascii_lowercase()).trim_end().to_owned()
}

/// Label of connections that timed out while they waited for a request's head.
pub(super) const IDLE: [(&str, &str); 1] = [("phase", "idle")];
/// Label of connections that timed out while the client did not read its answer.
pub(super) const WRITE: [(&str, &str); 1] = [("phase", "write")];

/// Metrics of a listener's connections. Clones share the values.
///
/// | metric | labels | |
/// | --- | --- | --- |
/// | `http_connections_open` | | connections that are open |
/// | `http_connections_limited_total` | | connections that had to wait because the limit was reached |
/// | `http_connections_shed_total` | | idle connections closed to make room |
/// | `http_connections_timed_out_total` | phase | connections closed because the client took too long |
/// | `http_requests_in_flight` | | requests whose answer has not ended |
#[derive(Clone, Debug, Default)]
pub struct Connections {
    pub(super) open: Gauge,
    pub(super) in_flight: Gauge,
    pub(super) limited: Counter,
    pub(super) shed: Counter,
    pub(super) timed_out: Family<[(&'static str, &'static str); 1], Counter>,
}

impl Connections {
    /// Adds these metrics to a registry.
    pub fn register(&self, registry: &mut Registry) {
        // `rate` and `increase` miss a series' first value, so each begins at 0.
        for phase in [IDLE, WRITE] {
            drop(self.timed_out.get_or_create(&phase));
        }
        let open = self.open.clone();
        registry.register("http_connections_open", "Connections that are open", open);
        let help = "Connections that had to wait because the limit was reached";
        registry.register("http_connections_limited", help, self.limited.clone());
        let help = "Idle connections closed to make room for new ones";
        registry.register("http_connections_shed", help, self.shed.clone());
        let help = "Connections closed because the client took too long";
        registry.register("http_connections_timed_out", help, self.timed_out.clone());
        let help = "Requests whose answer has not ended";
        registry.register("http_requests_in_flight", help, self.in_flight.clone());
    }
}
