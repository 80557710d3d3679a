//! The shadow's metrics.
//!
//! Every series exists from the start, because `rate` misses the first increment of a new one. Times and sizes are
//! observed for answers only; failures are only counted.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use http::header::CONTENT_TYPE;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry, Unit};
use service_kit::metrics::{DURATION_BUCKETS, ProcessCollector, SIZE_BUCKETS, class, encode};
use strum::VariantArray;

use crate::client::Reason;
use crate::comparison::{Comparison, Noise};
use crate::name_counts::NameCounts;
use crate::pairs::{Event, Thresholds, Timing};
use crate::result::{Outcome, Side};
use crate::routes::ComparedRoute;

/// The route, and other labels.
type Labels = Vec<(&'static str, String)>;

/// The classes of statuses, by their first digit.
const CLASSES: [(u16, &str); 4] = [(2, "2xx"), (3, "3xx"), (4, "4xx"), (5, "5xx")];

/// The most classes of a route that are counted by name.
const MOST_CLASSES: usize = 100;

fn of<const N: usize>(route: &str, others: [(&'static str, &str); N]) -> Labels {
    let all = [("route", route)].into_iter().chain(others);
    all.map(|(label, value)| (label, value.to_owned())).collect()
}

/// Long texts of help.
const NOISE: &str = "Requests that only the old side was asked, twice, by whether its answers are the same; cached: \
                     a cache gave both";
const DISCORDANT: &str = "Pairs in which one side alone failed, or was slower than a quantile of the old side's times, \
                          the new one by a margin";
const ANSWERS: &str = "Answers of a side in pairs, by class of the status, outages included";

/// Adds a new metric to the registry, and returns it.
fn add<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

pub(crate) struct Metrics {
    registry: Registry,
    comparisons: Family<Labels, Counter>,
    noise: Family<Labels, Counter>,
    classes: Family<Labels, Counter>,
    mismatches: Family<Labels, Counter>,
    failures: Family<Labels, Counter>,
    pairs: Family<Labels, Counter>,
    discordant: Family<Labels, Counter>,
    answers: Family<Labels, Counter>,
    classes_seen: NameCounts,
    thresholds: Mutex<HashMap<String, Thresholds>>,
    seconds: Family<Labels, Histogram>,
    bytes: Family<Labels, Histogram>,
    dropped: Family<Labels, Counter>,
    pub(crate) unknown: Counter,
    pub(crate) queue_depth: Gauge,
}

impl Metrics {
    pub(crate) fn new(routes: &[Arc<ComparedRoute>]) -> Self {
        let thresholds = |watched: &Arc<ComparedRoute>| {
            let margin = watched.route.file.shadow.slower.clone();
            (watched.name().to_owned(), Thresholds::new(margin))
        };
        let mut registry = Registry::default();
        registry.register_collector(Box::new(ProcessCollector));
        registry.register_collector(Box::new(Judges(routes.to_vec())));
        let shadow = registry.sub_registry_with_prefix("shadow");
        let build = [("version", env!("CARGO_PKG_VERSION"))];
        shadow.register("build", "Version of the program", Info::new(build));
        let seconds: Family<_, _> =
            Family::new_with_constructor(|| Histogram::new(DURATION_BUCKETS));
        let help = "Time from sending a request to the last byte of its answer";
        shadow.register_with_unit("response", help, Unit::Seconds, seconds.clone());
        let bytes: Family<_, _> = Family::new_with_constructor(|| Histogram::new(SIZE_BUCKETS));
        let help = "Size of the answer's body, as it came";
        shadow.register_with_unit("response", help, Unit::Bytes, bytes.clone());
        let metrics = Metrics {
            comparisons: add(shadow, "comparisons", "Requests sent to both sides, by result"),
            noise: add(shadow, "noise", NOISE),
            classes: add(shadow, "classes", "Comparisons by class of the old side's answer"),
            mismatches: add(shadow, "mismatches", "Answers that differ, by kind of difference"),
            failures: add(shadow, "failures", "Requests without an answer, by reason"),
            pairs: add(shadow, "pairs", "Requests that both sides were asked"),
            discordant: add(shadow, "discordant", DISCORDANT),
            answers: add(shadow, "answers", ANSWERS),
            classes_seen: NameCounts::new(MOST_CLASSES),
            thresholds: Mutex::new(routes.iter().map(thresholds).collect()),
            seconds,
            bytes,
            dropped: add(shadow, "dropped", "Requests dropped because the queue was full"),
            unknown: add(shadow, "unknown", "Requests of no route"),
            queue_depth: add(shadow, "queue_depth", "Requests in the queue"),
            registry,
        };
        routes.iter().for_each(|watched| metrics.make_series(watched));
        metrics
    }

    /// Creates every series of a route. Drops each guard at once, since it locks the family.
    fn make_series(&self, watched: &ComparedRoute) {
        let route = watched.name();
        drop(self.dropped.get_or_create(&of(route, [])));
        drop(self.pairs.get_or_create(&of(route, [])));
        for result in Outcome::VARIANTS {
            drop(self.comparisons.get_or_create(&of(route, [("result", result.into_str())])));
        }
        for result in ["match", "mismatch", "cached"] {
            drop(self.noise.get_or_create(&of(route, [("result", result)])));
        }
        for kind in watched.judge.kinds() {
            drop(self.mismatches.get_or_create(&of(route, [("kind", kind.as_str())])));
        }
        for side in Side::VARIANTS.iter().map(Side::into_str) {
            drop(self.seconds.get_or_create(&of(route, [("side", side)])));
            drop(self.bytes.get_or_create(&of(route, [("side", side)])));
            for (_, class) in CLASSES {
                drop(self.answers.get_or_create(&of(route, [("side", side), ("class", class)])));
            }
            for reason in Reason::VARIANTS {
                let labels = [("side", side), ("reason", reason.into_str())];
                drop(self.failures.get_or_create(&of(route, labels)));
            }
            for event in Event::VARIANTS {
                let labels = [("event", event.into_str()), ("worse", side)];
                drop(self.discordant.get_or_create(&of(route, labels)));
            }
        }
    }

    pub(crate) fn drop_one(&self, route: &str) {
        self.dropped.get_or_create(&of(route, [])).inc();
    }

    /// Counts a pair of answers of the old side.
    pub(crate) fn observe_noise(&self, route: &str, noise: &Noise) {
        let result = match noise {
            Noise::Cached => "cached",
            Noise::Judged(None) => "match",
            Noise::Judged(Some(_)) => "mismatch",
        };
        self.noise.get_or_create(&of(route, [("result", result)])).inc();
    }

    /// Counts the answers of a comparison first and then the comparison, so that a scrape that counts the comparison
    /// also counts its answers.
    pub(crate) fn observe(&self, comparison: &Comparison, shape: &str) {
        let route = &*comparison.route;
        self.pairs.get_or_create(&of(route, [])).inc();
        let mut thresholds = self.thresholds.lock().unwrap_or_else(PoisonError::into_inner);
        let took = |side| Timing::of(comparison.reply(side));
        let (new, old) = (took(Side::New), took(Side::Old));
        for (event, worse) in thresholds.entry(route.into()).or_default().discordant(new, old) {
            let labels = [("event", event.into_str()), ("worse", worse.into_str())];
            self.discordant.get_or_create(&of(route, labels)).inc();
        }
        drop(thresholds);
        if let Some(kind) = comparison.verdict.kind() {
            self.mismatches.get_or_create(&of(route, [("kind", kind.as_str())])).inc();
        }
        for &side in Side::VARIANTS {
            let (reply, side) = (comparison.reply(side), ("side", side.into_str()));
            let status = reply.status().map_or(0, |status| status.as_u16());
            if let Some((_, class)) = CLASSES.iter().find(|(digit, _)| *digit == status / 100) {
                self.answers.get_or_create(&of(route, [side, ("class", *class)])).inc();
            }
            match &reply.outcome {
                Ok(answer) => {
                    let labels = of(route, [side]);
                    self.seconds.get_or_create(&labels).observe(reply.elapsed.as_secs_f64());
                    self.bytes.get_or_create(&labels).observe(answer.received_bytes as f64);
                }
                Err(failure) => {
                    let reason = ("reason", failure.reason.into_str());
                    self.failures.get_or_create(&of(route, [side, reason])).inc();
                }
            }
        }
        let result = comparison.verdict.outcome.into_str();
        if let (Outcome::Match | Outcome::Mismatch, Ok(answer)) =
            (comparison.verdict.outcome, &comparison.old.reply.outcome)
        {
            let media_type = answer.headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
            let class = class(shape, answer.status.as_u16(), media_type.unwrap_or_default());
            let is_known = self.classes_seen.count(route, &class).is_some();
            let class = if is_known { &class } else { "others" };
            let labels = of(route, [("class", class), ("result", result)]);
            self.classes.get_or_create(&labels).inc();
        }
        self.comparisons.get_or_create(&of(route, [("result", result)])).inc();
    }

    /// All metrics in the OpenMetrics text format.
    pub(crate) fn encode(&self) -> Result<String, fmt::Error> {
        encode(&self.registry)
    }
}

/// The metrics of the judges that run a program (`exec`).
#[derive(Debug)]
struct Judges(Vec<Arc<ComparedRoute>>);

impl Collector for Judges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let starts = Family::<Labels, Counter>::default();
        let failures = Family::<Labels, Counter>::default();
        for watched in &self.0 {
            let Some(stats) = watched.judge.stats() else { continue };
            let route = watched.name();
            starts.get_or_create(&of(route, [])).inc_by(stats.starts);
            let others = [("waiting", stats.waiting), ("busy", stats.busy)];
            for (reason, count) in stats.failures_by_name().chain(others) {
                failures.get_or_create(&of(route, [("reason", reason)])).inc_by(count);
            }
        }
        let help = "Starts of the program that judges";
        let kind = starts.metric_type();
        starts.encode(encoder.encode_descriptor("shadow_judge_starts", help, None, kind)?)?;
        let help = "Pairs that the program did not judge, by reason";
        let kind = failures.metric_type();
        failures.encode(encoder.encode_descriptor("shadow_judge_failures", help, None, kind)?)
    }
}
