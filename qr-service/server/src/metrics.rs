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
//! The histogram's exemplars are request ids.

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
use prometheus_client::registry::{Registry, Unit};
use service_kit::metrics::{Connections, DURATION_BUCKETS, ProcessCollector, SIZE_BUCKETS, encode};
use strum::{IntoStaticStr, VariantArray};

use crate::engine::Engine;

/// A route's template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(const_into_str)]
pub(crate) enum Route {
    #[strum(serialize = "/qrcode")]
    Qrcode,
    #[strum(serialize = "unmatched")]
    Unmatched,
    /// All routes of the API, and the paths of other services, which `v1::Compatible` marks.
    #[cfg(feature = "api")]
    #[strum(serialize = "/v1/")]
    Api,
}

impl Route {
    pub(crate) fn of(path: &str) -> Self {
        match path {
            "/qrcode" => Route::Qrcode,
            #[cfg(feature = "api")]
            path if path.starts_with("/v1/") => Route::Api,
            _ => Route::Unmatched,
        }
    }
}

/// A method as a label; methods that no route allows are all `other`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(const_into_str, serialize_all = "UPPERCASE")]
pub(crate) enum MethodLabel {
    Get,
    Head,
    #[strum(serialize = "other")]
    Other,
    #[cfg(feature = "api")]
    Post,
}

impl MethodLabel {
    pub(crate) fn of(method: &Method) -> Self {
        match *method {
            Method::GET => MethodLabel::Get,
            Method::HEAD => MethodLabel::Head,
            #[cfg(feature = "api")]
            Method::POST => MethodLabel::Post,
            _ => MethodLabel::Other,
        }
    }
}

/// Every status that a route answers with; a route that adds one lists it here.
#[cfg(not(feature = "api"))]
const STATUSES: [u16; 6] = [200, 304, 400, 404, 405, 500];
#[cfg(feature = "api")]
const STATUSES: [u16; 12] = [200, 304, 400, 404, 405, 500, 406, 408, 413, 415, 422, 503];

const COMBINATIONS: usize = Route::VARIANTS.len() * MethodLabel::VARIANTS.len() * STATUSES.len();

#[derive(Clone, Debug, PartialEq, Eq)]
struct RequestLabels {
    route: Route,
    method: MethodLabel,
    status: u16,
}

type Labels = ([(&'static str, &'static str); 2], [(&'static str, u16); 1]);

impl RequestLabels {
    fn series(&self) -> Labels {
        let words = [("route", self.route.into_str()), ("method", self.method.into_str())];
        (words, [("status", self.status)])
    }
}

/// The labels of an exemplar: the request that it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ExemplarLabels {
    request_id: String,
}

/// Longest request id of an exemplar. OpenMetrics allows 118 characters, but ids of that length would double a
/// scrape's size.
const MAX_EXEMPLAR_BYTES: usize = 64;

type Durations = HistogramWithExemplars<ExemplarLabels>;

/// Whether the route can answer this method with this status.
fn is_possible(route: Route, method: MethodLabel, status: u16) -> bool {
    match (route, method) {
        (Route::Unmatched, _) => status == 404,
        (Route::Qrcode, MethodLabel::Get | MethodLabel::Head) => {
            matches!(status, 200 | 304 | 400 | 500)
        }
        (Route::Qrcode, _) => status == 405,
        // A preflight request is answered 200.
        #[cfg(feature = "api")]
        (Route::Api, MethodLabel::Other) => matches!(status, 200 | 404 | 405),
        #[cfg(feature = "api")]
        (Route::Api, MethodLabel::Post) => status != 304,
        #[cfg(feature = "api")]
        (Route::Api, _) => !matches!(status, 408 | 413 | 415),
    }
}

/// The series of one combination of labels.
struct Series {
    requests: Counter,
    durations: Durations,
}

/// The service's metrics.
pub(crate) struct Metrics {
    requests: Family<Labels, Counter>,
    durations: Family<Labels, Durations, fn() -> Durations>,
    /// The series used so far, by [`place_of`], because looking up their labels takes longer than counting.
    series: [OnceLock<Series>; COMBINATIONS],
    generate: Histogram,
    sizes: Histogram,
    registry: Registry,
}

impl Metrics {
    pub(crate) fn new(engine: Engine, connections: &Connections) -> Self {
        let requests = Family::<Labels, Counter>::default();
        // `rate` and `increase` miss the first value of a series, so each series starts at 0.
        for labels in all_labels() {
            drop(requests.get_or_create(&labels.series()));
        }
        let durations: fn() -> Durations = || Durations::new(DURATION_BUCKETS.into_iter());
        let durations = Family::new_with_constructor(durations);
        // A family without series is not exposed at all, so `rate` would miss its first value as well.
        let usual = RequestLabels { route: Route::Qrcode, method: MethodLabel::Get, status: 200 };
        drop(durations.get_or_create(&usual.series()));
        let generate = Histogram::new(DURATION_BUCKETS);
        let sizes = Histogram::new(SIZE_BUCKETS);

        let mut registry = Registry::default();
        registry.register("http_requests", "Requests answered", requests.clone());
        registry.register_with_unit(
            "http_request_duration",
            "Time from a request's head to its answer's, in the service",
            Unit::Seconds,
            durations.clone(),
        );
        connections.register(&mut registry);
        let help = "Time to draw a picture";
        registry.register_with_unit("qr_generate", help, Unit::Seconds, generate.clone());
        registry.register_with_unit("qr_png", "Size of a picture", Unit::Bytes, sizes.clone());
        let engine = engine.to_string();
        let build = [("version", env!("CARGO_PKG_VERSION").to_owned()), ("engine", engine)];
        registry.register("qr_build", "What is running", Info::new(build));
        registry.register_collector(Box::new(ProcessCollector));
        let series = [const { OnceLock::new() }; COMBINATIONS];
        Metrics { requests, durations, series, generate, sizes, registry }
    }

    pub(crate) fn observe_request(
        &self,
        (route, method, status): (Route, MethodLabel, StatusCode),
        request_id: &str,
        duration: Duration,
    ) {
        let labels = RequestLabels { route, method, status: status.as_u16() };
        debug_assert!(all_labels().any(|possible| possible == labels), "{labels:?}");
        let Some(place) = place_of(&labels) else { return };
        let series = self.series[place].get_or_init(|| Series {
            requests: self.requests.get_or_create(&labels.series()).clone(),
            durations: self.durations.get_or_create(&labels.series()).clone(),
        });
        series.requests.inc();
        let exemplar = (request_id.len() <= MAX_EXEMPLAR_BYTES)
            .then(|| ExemplarLabels { request_id: request_id.to_owned() });
        series.durations.observe(duration.as_secs_f64(), exemplar, None);
    }

    pub(crate) fn observe_picture(&self, duration: Duration, bytes: usize) {
        self.generate.observe(duration.as_secs_f64());
        self.sizes.observe(bytes as f64);
    }

    /// All metrics in the OpenMetrics text format.
    pub(crate) fn encode(&self) -> Result<String, fmt::Error> {
        encode(&self.registry)
    }
}

/// The index of a combination of labels in [`Metrics::series`]; `None` for a status that is not in [`STATUSES`].
fn place_of(labels: &RequestLabels) -> Option<usize> {
    let status = STATUSES.iter().position(|&status| status == labels.status)?;
    let method = labels.route as usize * MethodLabel::VARIANTS.len() + labels.method as usize;
    Some(method * STATUSES.len() + status)
}

/// Every possible combination of labels.
fn all_labels() -> impl Iterator<Item = RequestLabels> {
    let methods = |route| MethodLabel::VARIANTS.iter().map(move |&method| (route, method));
    Route::VARIANTS.iter().copied().flat_map(methods).flat_map(|(route, method)| {
        let possible = STATUSES.into_iter().filter(move |&s| is_possible(route, method, s));
        possible.map(move |status| RequestLabels { route, method, status })
    })
}

#[cfg(test)]
mod tests;
