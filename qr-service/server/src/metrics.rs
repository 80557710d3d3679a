//! The service's metrics, with Prometheus' naming and base units.
//!
//! | metric | labels |
//! | --- | --- |
//! | `http_requests_total` | route, method, status |
//! | `http_request_duration_seconds` | route, method, status |
//! | `http_requests_in_flight`, `http_connections_*` | see `service_kit::metrics::Connections` |
//! | `qr_generate_seconds` | |
//! | `qr_png_bytes` | |
//! | `qr_build_info` | version, engine |
//! | `process_*` | see `service_kit::metrics` |
//!
//! Labels have few values: route templates, and the methods and statuses that this service answers.
//! The hot path looks up no labels: the first request of a combination creates its series, and all
//! later ones find it by index.
//!
//! There are two registries, because no histogram of the library has both exemplars and native
//! buckets. The text format has the exemplars (request ids), protobuf has the native buckets, and
//! both have all other metrics.

use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use http::{Method, StatusCode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::exemplar::HistogramWithExemplars;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry, Unit};
use service_kit::label_value;
use service_kit::metrics::{
    Connections, DURATION_BUCKETS, ProcessCollector, RequestId, SIZE_BUCKETS, encode,
    encode_protobuf, histogram,
};

use crate::engine::Engine;

/// A route's template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Route {
    Qrcode,
    Unmatched,
    /// All routes of the API, and the paths of other services, which `qr_api::Compatible` marks.
    #[cfg(feature = "api")]
    Api,
}

impl Route {
    #[cfg(not(feature = "api"))]
    const ALL: [Route; 2] = [Route::Qrcode, Route::Unmatched];
    #[cfg(feature = "api")]
    const ALL: [Route; 3] = [Route::Qrcode, Route::Unmatched, Route::Api];

    pub(crate) fn of(path: &str) -> Self {
        match path {
            "/qrcode" => Route::Qrcode,
            #[cfg(feature = "api")]
            path if path.starts_with("/v1/") => Route::Api,
            _ => Route::Unmatched,
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Route::Qrcode => "/qrcode",
            Route::Unmatched => "unmatched",
            #[cfg(feature = "api")]
            Route::Api => "/v1/",
        }
    }
}

/// A method as a label; all methods that no route allows are `other`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum MethodLabel {
    Get,
    Head,
    Other,
    #[cfg(feature = "api")]
    Post,
}

impl MethodLabel {
    #[cfg(not(feature = "api"))]
    const ALL: [MethodLabel; 3] = [MethodLabel::Get, MethodLabel::Head, MethodLabel::Other];
    #[cfg(feature = "api")]
    const ALL: [MethodLabel; 4] =
        [MethodLabel::Get, MethodLabel::Head, MethodLabel::Other, MethodLabel::Post];

    pub(crate) fn of(method: &Method) -> Self {
        match *method {
            Method::GET => MethodLabel::Get,
            Method::HEAD => MethodLabel::Head,
            #[cfg(feature = "api")]
            Method::POST => MethodLabel::Post,
            _ => MethodLabel::Other,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            MethodLabel::Get => "GET",
            MethodLabel::Head => "HEAD",
            #[cfg(feature = "api")]
            MethodLabel::Post => "POST",
            MethodLabel::Other => "other",
        }
    }
}

label_value!(Route, MethodLabel);

/// Every status that a route answers with; a route that adds one lists it here.
#[cfg(not(feature = "api"))]
const STATUSES: [u16; 6] = [200, 304, 400, 404, 405, 500];
#[cfg(feature = "api")]
const STATUSES: [u16; 13] = [200, 304, 400, 404, 405, 500, 204, 406, 408, 413, 415, 422, 503];
const COMBINATIONS: usize = Route::ALL.len() * MethodLabel::ALL.len() * STATUSES.len();

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: Route,
    method: MethodLabel,
    status: u16,
}

/// Whether the route can answer this method with this status.
fn is_possible(route: Route, method: MethodLabel, status: u16) -> bool {
    match (route, method) {
        (Route::Unmatched, _) => status == 404,
        (Route::Qrcode, MethodLabel::Get | MethodLabel::Head) => {
            matches!(status, 200 | 304 | 400 | 500)
        }
        (Route::Qrcode, _) => status == 405,
        // A preflight request is answered 204, and qrcode.show's 200.
        #[cfg(feature = "api")]
        (Route::Api, MethodLabel::Other) => matches!(status, 200 | 204 | 404 | 405),
        #[cfg(feature = "api")]
        (Route::Api, MethodLabel::Post) => !matches!(status, 204 | 304),
        #[cfg(feature = "api")]
        (Route::Api, _) => !matches!(status, 204 | 408 | 413 | 415),
    }
}

/// The series of one combination of labels.
struct Series {
    requests: Counter,
    duration: HistogramWithExemplars<RequestId>,
    native_duration: Histogram,
}

pub(crate) struct Metrics {
    text: Registry,
    protobuf: Registry,
    requests: Family<RequestLabels, Counter>,
    durations: Family<RequestLabels, HistogramWithExemplars<RequestId>>,
    native_durations: Family<RequestLabels, Histogram>,
    series: [OnceLock<Series>; COMBINATIONS],
    connections: Connections,
    generate: Histogram,
    sizes: Histogram,
}

impl Metrics {
    pub(crate) fn new(engine: Engine, connections: &Connections) -> Self {
        let mut metrics = Metrics {
            text: Registry::default(),
            protobuf: Registry::default(),
            requests: Family::default(),
            durations: Family::new_with_constructor(|| {
                HistogramWithExemplars::new(DURATION_BUCKETS.into_iter())
            }),
            native_durations: Family::new_with_constructor(|| histogram(DURATION_BUCKETS)),
            series: [const { OnceLock::new() }; COMBINATIONS],
            connections: connections.clone(),
            generate: histogram(DURATION_BUCKETS),
            sizes: Histogram::new(SIZE_BUCKETS),
        };
        metrics.text = metrics.registry(engine, metrics.durations.clone());
        metrics.protobuf = metrics.registry(engine, metrics.native_durations.clone());
        metrics.begin_counting();
        metrics
    }

    fn registry(&self, engine: Engine, durations: impl Metric) -> Registry {
        let mut registry = Registry::default();
        registry.register("http_requests", "Requests answered", self.requests.clone());
        registry.register_with_unit(
            "http_request_duration",
            "Time from a request's head to its answer's, in the service",
            Unit::Seconds,
            durations,
        );
        self.connections.register(&mut registry);
        registry.register_with_unit(
            "qr_generate",
            "Time to draw a picture",
            Unit::Seconds,
            self.generate.clone(),
        );
        registry.register_with_unit("qr_png", "Size of a picture", Unit::Bytes, self.sizes.clone());
        let build =
            [("version", env!("CARGO_PKG_VERSION").to_owned()), ("engine", engine.to_string())];
        registry.register("qr_build", "What is running", Info::new(build));
        registry.register_collector(Box::new(ProcessCollector));
        registry
    }

    /// Exports every counter at 0, because `rate` and `increase` miss a series' first value.
    fn begin_counting(&self) {
        for route in Route::ALL {
            for method in MethodLabel::ALL {
                for status in STATUSES.into_iter().filter(|&s| is_possible(route, method, s)) {
                    drop(self.requests.get_or_create(&RequestLabels { route, method, status }));
                }
            }
        }
    }

    pub(crate) fn observe_request(
        &self,
        (route, method, status): (Route, MethodLabel, StatusCode),
        request_id: &[u8],
        duration: Duration,
    ) {
        let status = status.as_u16();
        let Some(index) = STATUSES.iter().position(|&s| s == status) else {
            debug_assert!(false, "status {status} is not in STATUSES");
            return;
        };
        debug_assert!(is_possible(route, method, status), "{route:?} {method:?} {status}");
        let place =
            (route as usize * MethodLabel::ALL.len() + method as usize) * STATUSES.len() + index;
        let series = self.series[place].get_or_init(|| {
            let labels = RequestLabels { route, method, status };
            Series {
                requests: self.requests.get_or_create(&labels).clone(),
                duration: self.durations.get_or_create(&labels).clone(),
                native_duration: self.native_durations.get_or_create(&labels).clone(),
            }
        });
        let seconds = duration.as_secs_f64();
        series.requests.inc();
        series.duration.observe(seconds, RequestId::new(request_id), None);
        series.native_duration.observe(seconds);
    }

    pub(crate) fn observe_picture(&self, duration: Duration, bytes: usize) {
        self.generate.observe(duration.as_secs_f64());
        self.sizes.observe(bytes as f64);
    }

    /// The OpenMetrics text format, with exemplars.
    pub(crate) fn encode(&self) -> Result<String, fmt::Error> {
        encode(&self.text)
    }

    /// Prometheus' protobuf format, with native histograms.
    pub(crate) fn encode_protobuf(&self) -> Result<Vec<u8>, fmt::Error> {
        encode_protobuf(&self.protobuf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest possible scrape: every combination of labels, in every bucket, with the longest id.
    #[test]
    fn a_scrape_is_bounded() {
        let metrics = Metrics::new(Engine::Default, &Connections::default());
        let id = [b'i'; 64];
        let mut combinations = 0;
        for route in Route::ALL {
            for method in MethodLabel::ALL {
                for status in STATUSES.into_iter().filter(|&s| is_possible(route, method, s)) {
                    combinations += 1;
                    let status = StatusCode::from_u16(status).unwrap();
                    for bound in DURATION_BUCKETS.into_iter().chain([10.0]) {
                        let duration = Duration::from_secs_f64(bound);
                        metrics.observe_request((route, method, status), &id, duration);
                    }
                }
            }
        }
        let text = metrics.encode().unwrap();
        let series = text.lines().filter(|line| !line.starts_with('#')).count();
        // With the API there are thrice as many combinations.
        let (most_series, most_bytes) =
            if cfg!(feature = "api") { (1000, 150_000) } else { (500, 50_000) };
        assert!(series < most_series, "{series} series");
        let exemplars = text.matches("request_id").count();
        assert_eq!(exemplars, combinations * 16, "an exemplar for each bucket");
        for bytes in [text.len(), metrics.encode_protobuf().unwrap().len()] {
            assert!(bytes < most_bytes, "{bytes} bytes");
        }
    }
}
