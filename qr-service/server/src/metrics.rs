//! The service's metrics, in Prometheus' names and base units.
//!
//! | metric | labels |
//! | --- | --- |
//! | `http_requests_total` | route, method, status |
//! | `http_request_duration_seconds` | route, method, status |
//! | `http_requests_in_flight` | |
//! | `qr_generate_seconds` | |
//! | `qr_png_bytes` | |
//! | `qr_build_info` | version, engine |
//! | `process_*` | see `qr_runtime::metrics` |
//!
//! Labels are bounded: routes are templates, methods and statuses those that this service answers.
//! On the hot path no label is looked up: the series of a combination is made when it is first
//! needed, and found by index from then on.

use std::sync::OnceLock;
use std::time::Duration;

use http::{Method, StatusCode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use qr_core::Engine;
use qr_runtime::label_value;
use qr_runtime::metrics::{DURATION_BUCKETS, ProcessCollector, SIZE_BUCKETS, encode};

/// A route's template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Route {
    Qrcode,
    Unmatched,
}

impl Route {
    pub(crate) fn of(path: &str) -> Self {
        if path == "/qrcode" { Route::Qrcode } else { Route::Unmatched }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Route::Qrcode => "/qrcode",
            Route::Unmatched => "unmatched",
        }
    }
}

/// A method as a label: those that the routes know, and all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum MethodLabel {
    Get,
    Head,
    Other,
}

impl MethodLabel {
    pub(crate) fn of(method: &Method) -> Self {
        match *method {
            Method::GET => MethodLabel::Get,
            Method::HEAD => MethodLabel::Head,
            _ => MethodLabel::Other,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            MethodLabel::Get => "GET",
            MethodLabel::Head => "HEAD",
            MethodLabel::Other => "other",
        }
    }
}

label_value!(Route, MethodLabel);

/// Every status that a route answers with.
const STATUSES: [u16; 7] = [200, 304, 400, 404, 405, 500, 503];
const COMBINATIONS: usize = 2 * 3 * STATUSES.len();

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: Route,
    method: MethodLabel,
    status: u16,
}

/// The series of one combination of labels.
struct Series {
    requests: Counter,
    duration: Histogram,
}

/// All metrics of one service.
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    durations: Family<RequestLabels, Histogram>,
    series: [OnceLock<Series>; COMBINATIONS],
    in_flight: Gauge,
    generate: Histogram,
    sizes: Histogram,
}

impl Metrics {
    pub(crate) fn new(engine: Engine) -> Self {
        let mut metrics = Metrics {
            registry: Registry::default(),
            requests: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(DURATION_BUCKETS)),
            series: [const { OnceLock::new() }; COMBINATIONS],
            in_flight: Gauge::default(),
            generate: Histogram::new(DURATION_BUCKETS),
            sizes: Histogram::new(SIZE_BUCKETS),
        };
        metrics.register(engine);
        metrics
    }

    fn register(&mut self, engine: Engine) {
        let registry = &mut self.registry;
        registry.register("http_requests", "Requests answered", self.requests.clone());
        registry.register_with_unit(
            "http_request_duration",
            "Time from a request's head to its answer's, in the service",
            Unit::Seconds,
            self.durations.clone(),
        );
        registry.register("http_requests_in_flight", "Requests under way", self.in_flight.clone());
        registry.register_with_unit(
            "qr_generate",
            "Time to make a picture",
            Unit::Seconds,
            self.generate.clone(),
        );
        registry.register_with_unit("qr_png", "Size of a picture", Unit::Bytes, self.sizes.clone());
        let build =
            [("version", env!("CARGO_PKG_VERSION").to_owned()), ("engine", engine.to_string())];
        registry.register("qr_build", "What is running", Info::new(build));
        registry.register_collector(Box::new(ProcessCollector::new()));
    }

    pub(crate) fn request_began(&self) {
        self.in_flight.inc();
    }

    pub(crate) fn request_ended(&self) {
        self.in_flight.dec();
    }

    pub(crate) fn observe_request(
        &self,
        route: Route,
        method: MethodLabel,
        status: StatusCode,
        duration: Duration,
    ) {
        // One that is not listed would be a route's that forgot to list it.
        let Some(index) = STATUSES.iter().position(|&s| s == status.as_u16()) else {
            debug_assert!(false, "status {status} is not in STATUSES");
            return;
        };
        let place = (route as usize * 3 + method as usize) * STATUSES.len() + index;
        let series = self.series[place].get_or_init(|| {
            let labels = RequestLabels { route, method, status: status.as_u16() };
            Series {
                requests: self.requests.get_or_create(&labels).clone(),
                duration: self.durations.get_or_create(&labels).clone(),
            }
        });
        series.requests.inc();
        series.duration.observe(duration.as_secs_f64());
    }

    pub(crate) fn observe_picture(&self, duration: Duration, bytes: usize) {
        self.generate.observe(duration.as_secs_f64());
        self.sizes.observe(bytes as f64);
    }

    /// All metrics in the OpenMetrics text format.
    pub fn encode(&self) -> String {
        encode(&self.registry)
    }
}
