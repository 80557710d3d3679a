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
//! Each thread counts for itself, so that no two write to the same cache line; a scrape sums them. The text
//! format has the exemplars (request ids), protobuf has the native buckets, and both have all other metrics.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{Method, StatusCode};
use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use service_kit::label_value;
use service_kit::metrics::{
    Connections, DURATION_BUCKETS, Distribution, MAX_BUCKETS, NATIVE, PerThread, ProcessCollector,
    RequestId, SIZE_BUCKETS, add_exemplars, encode, encode_protobuf,
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

#[derive(Clone, Debug, PartialEq, Eq, EncodeLabelSet)]
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

/// What one thread has counted.
struct Counted {
    series: [Option<Box<Series>>; COMBINATIONS],
    generate: Distribution<NATIVE>,
    sizes: Distribution<0>,
}

impl Default for Counted {
    fn default() -> Self {
        Counted {
            series: [const { None }; COMBINATIONS],
            generate: Distribution::new(&DURATION_BUCKETS),
            sizes: Distribution::new(&SIZE_BUCKETS),
        }
    }
}

impl Counted {
    fn observe_picture(&mut self, seconds: f64, bytes: usize) {
        self.generate.observe(seconds);
        self.sizes.observe(bytes as f64);
    }

    /// Adds what another thread has counted.
    fn add(&mut self, other: &Self) {
        self.generate.add(&other.generate);
        self.sizes.add(&other.sizes);
        for (own, other) in self.series.iter_mut().zip(&other.series) {
            if let Some(other) = other {
                own.get_or_insert_default().add(other);
            }
        }
    }
}

/// The series of one combination of labels. On cache lines of its own, wherever it is allocated.
#[repr(align(128))]
struct Series {
    durations: Distribution<NATIVE>,
    exemplars: [Exemplar; MAX_BUCKETS],
}

/// The last request that was counted in a bucket, and how long it took.
type Exemplar = Option<(RequestId, f64)>;

impl Default for Series {
    fn default() -> Self {
        let durations = Distribution::new(&DURATION_BUCKETS);
        Series { durations, exemplars: [None; MAX_BUCKETS] }
    }
}

impl Series {
    fn add(&mut self, other: &Self) {
        self.durations.add(&other.durations);
        for (own, other) in self.exemplars.iter_mut().zip(other.exemplars) {
            *own = other.or(*own);
        }
    }
}

/// The service's metrics. Each thread counts for itself; see [`PerThread`].
pub(crate) struct Metrics {
    engine: Engine,
    threads: PerThread<Mutex<Counted>>,
    connections: Connections,
}

impl Metrics {
    pub(crate) fn new(engine: Engine, connections: &Connections) -> Self {
        Metrics { engine, threads: PerThread::default(), connections: connections.clone() }
    }

    /// This thread's, whose lock only a scrape takes besides.
    fn mine(&self) -> MutexGuard<'_, Counted> {
        self.threads.mine().lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn observe_request(
        &self,
        (route, method, status): (Route, MethodLabel, StatusCode),
        request_id: &[u8],
        duration: Duration,
    ) {
        self.observe_both((route, method, status), request_id, duration, None);
    }

    /// Counts a request and, if it has one, its picture of so many bytes, under one lock. The picture's time is then
    /// that of the request. That is longer by reading the text, some thousand instructions beside the picture's
    /// 36,000, less than the width of a native bucket, and saves two readings of the clock.
    pub(crate) fn observe_both(
        &self,
        (route, method, status): (Route, MethodLabel, StatusCode),
        request_id: &[u8],
        duration: Duration,
        picture: Option<usize>,
    ) {
        let status = status.as_u16();
        let Some(place) = place_of(route, method, status) else {
            debug_assert!(false, "status {status} is not in STATUSES");
            return;
        };
        debug_assert!(is_possible(route, method, status), "{route:?} {method:?} {status}");
        let seconds = duration.as_secs_f64();
        let mut mine = self.mine();
        if let Some(bytes) = picture {
            mine.observe_picture(seconds, bytes);
        }
        let series = mine.series[place].get_or_insert_default();
        let bucket = series.durations.observe(seconds);
        if let Some(id) = RequestId::new(request_id) {
            series.exemplars[bucket] = Some((id, seconds));
        }
    }

    pub(crate) fn observe_picture(&self, duration: Duration, bytes: usize) {
        self.mine().observe_picture(duration.as_secs_f64(), bytes);
    }

    /// The sum of all threads.
    fn counted(&self) -> Counted {
        let mut sum = Counted::default();
        for thread in self.threads.all() {
            sum.add(&thread.lock().unwrap_or_else(PoisonError::into_inner));
        }
        sum
    }

    /// The OpenMetrics text format, with exemplars.
    pub(crate) fn encode(&self) -> Result<String, fmt::Error> {
        let counted = self.counted();
        let mut exemplars = Vec::new();
        for (_, series) in all_series(&counted) {
            exemplars.extend_from_slice(&series.exemplars[..series.durations.buckets()]);
        }
        let text = encode(&self.registry(counted))?;
        Ok(add_exemplars(&text, "http_request_duration_seconds", exemplars))
    }

    /// Prometheus' protobuf format, with native histograms.
    pub(crate) fn encode_protobuf(&self) -> Result<Vec<u8>, fmt::Error> {
        encode_protobuf(&self.registry(self.counted()))
    }

    /// A registry for one scrape.
    fn registry(&self, counted: Counted) -> Registry {
        let mut registry = Registry::default();
        let durations: Vec<_> = all_series(&counted)
            .map(|(labels, series)| (labels, series.durations.clone()))
            .collect();
        let requests = Requests::of(&durations);
        registry.register("http_requests", "Requests answered", requests);
        registry.register_with_unit(
            "http_request_duration",
            "Time from a request's head to its answer's, in the service",
            Unit::Seconds,
            Durations(durations),
        );
        self.connections.register(&mut registry);
        registry.register_with_unit(
            "qr_generate",
            "Time to draw a picture",
            Unit::Seconds,
            counted.generate,
        );
        registry.register_with_unit("qr_png", "Size of a picture", Unit::Bytes, counted.sizes);
        let engine = self.engine.to_string();
        let build = [("version", env!("CARGO_PKG_VERSION").to_owned()), ("engine", engine)];
        registry.register("qr_build", "What is running", Info::new(build));
        registry.register_collector(Box::new(ProcessCollector));
        registry
    }
}

/// The place of a combination of labels in [`Counted::series`].
fn place_of(route: Route, method: MethodLabel, status: u16) -> Option<usize> {
    let index = STATUSES.iter().position(|&s| s == status)?;
    Some((route as usize * MethodLabel::ALL.len() + method as usize) * STATUSES.len() + index)
}

/// Every combination of labels that is possible.
fn all_labels() -> impl Iterator<Item = RequestLabels> {
    let methods = Route::ALL.into_iter().flat_map(|route| MethodLabel::ALL.map(|it| (route, it)));
    methods.flat_map(|(route, method)| {
        let possible = STATUSES.into_iter().filter(move |&s| is_possible(route, method, s));
        possible.map(move |status| RequestLabels { route, method, status })
    })
}

/// The series that have been counted.
fn all_series(counted: &Counted) -> impl Iterator<Item = (RequestLabels, &Series)> {
    all_labels().filter_map(|labels| {
        let place = place_of(labels.route, labels.method, labels.status)?;
        Some((labels, counted.series[place].as_deref()?))
    })
}

/// `http_request_duration_seconds` at a scrape.
#[derive(Debug)]
struct Durations(Vec<(RequestLabels, Distribution<NATIVE>)>);

impl EncodeMetric for Durations {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(labels, it)| it.encode(encoder.encode_family(labels)?))
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

/// `http_requests_total` at a scrape. It has every combination: `rate` and `increase` miss a series' first
/// value, so each begins at 0.
#[derive(Debug)]
struct Requests(Vec<(RequestLabels, u64)>);

impl Requests {
    fn of(durations: &[(RequestLabels, Distribution<NATIVE>)]) -> Self {
        let count = |labels: &RequestLabels| {
            let series = durations.iter().find(|(counted, _)| counted == labels);
            series.map_or(0, |(_, durations)| durations.count())
        };
        Requests(all_labels().map(|labels| (labels.clone(), count(&labels))).collect())
    }
}

impl EncodeMetric for Requests {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(labels, count)| {
            let mut encoder = encoder.encode_family(labels)?;
            encoder.encode_counter::<NoLabelSet, _, u64>(count, None)
        })
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Counter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cache lines of a value.
    fn lines<T>(value: &T) -> std::ops::Range<usize> {
        let from = std::ptr::from_ref(value).addr();
        from / 64..(from + size_of::<T>()).div_ceil(64)
    }

    #[test]
    fn no_two_threads_count_a_request_in_the_same_cache_line() {
        let metrics = Metrics::new(Engine::Default, &Connections::default());
        // Nobody ends before all have begun, or they would share.
        let together = std::sync::Barrier::new(4);
        let count = || {
            metrics.observe_picture(Duration::from_micros(5), 400);
            let answered = (Route::Qrcode, MethodLabel::Get, StatusCode::OK);
            metrics.observe_request(answered, b"id", Duration::from_micros(9));
            let place = place_of(Route::Qrcode, MethodLabel::Get, 200).unwrap();
            let series = lines(metrics.mine().series[place].as_deref().unwrap());
            together.wait();
            [lines(metrics.threads.mine()), series]
        };
        let all = std::thread::scope(|scope| {
            let threads = [(); 4].map(|()| scope.spawn(count));
            threads.map(|thread| thread.join().unwrap())
        });
        let mut all: Vec<_> = all.into_iter().flatten().collect();
        all.sort_by_key(|lines| lines.start);
        assert!(all.windows(2).all(|two| two[0].end <= two[1].start), "{all:?}");
        assert_eq!(metrics.counted().sizes.count(), 4, "a scrape has those of all threads");
    }

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
