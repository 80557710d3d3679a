//! The shadow's metrics.
//!
//! | metric | labels |
//! | --- | --- |
//! | `shadow_comparisons_total` | route, result |
//! | `shadow_noise_total` | route; result of two answers of the old side: match, mismatch, cached |
//! | `shadow_pairs_total` | route |
//! | `shadow_discordant_total` | route, event; worse: the side that had it alone |
//! | `shadow_mismatches_total` | route, kind |
//! | `shadow_failures_total` | route, side, reason |
//! | `shadow_answers_total` | route, side, class: 2xx, 3xx, 4xx, 5xx |
//! | `shadow_response_seconds`, `shadow_response_bytes` | route, side |
//! | `shadow_dropped_total` | route |
//! | `shadow_judge_failures_total`, `shadow_judge_starts_total` | route; reason: a judge of `exec` |
//! | `shadow_unknown_total`, `shadow_queue_depth` | |
//! | `shadow_build_info` | version |
//! | `process_*` | see `service_kit::metrics` |
//!
//! Every series exists from the start, because `rate` misses the first increment of a new one. Times
//! and sizes are those of answers; failures are only counted.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use service_kit::metrics::{DURATION_BUCKETS, ProcessCollector, SIZE_BUCKETS, encode};

use crate::client::Reason;
use crate::comparison::{Comparison, Noise};
use crate::pairs::{Event, Thresholds, Took};
use crate::routes::Watched;
use crate::side::Side;
use crate::verdict::Outcome;

type Name = Arc<str>;

/// The classes of statuses, by their first digit.
const CLASSES: [(u16, &str); 4] = [(2, "2xx"), (3, "3xx"), (4, "4xx"), (5, "5xx")];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfRoute {
    route: Name,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfResult {
    route: Name,
    result: Outcome,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfNoise {
    route: Name,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfKind {
    route: Name,
    kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfSide {
    route: Name,
    side: Side,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfClass {
    route: Name,
    side: Side,
    class: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfEvent {
    route: Name,
    event: Event,
    worse: Side,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfFailure {
    route: Name,
    side: Side,
    reason: Reason,
}

pub(crate) struct Metrics {
    registry: Registry,
    comparisons: Family<OfResult, Counter>,
    noise: Family<OfNoise, Counter>,
    mismatches: Family<OfKind, Counter>,
    failures: Family<OfFailure, Counter>,
    pairs: Family<OfRoute, Counter>,
    discordant: Family<OfEvent, Counter>,
    answers: Family<OfClass, Counter>,
    thresholds: Mutex<HashMap<Name, Thresholds>>,
    seconds: Family<OfSide, Histogram>,
    bytes: Family<OfSide, Histogram>,
    dropped: Family<OfRoute, Counter>,
    pub(crate) unknown: Counter,
    pub(crate) queue_depth: Gauge,
}

impl Metrics {
    pub(crate) fn new(routes: &[Arc<Watched>]) -> Self {
        let mut metrics = Metrics {
            registry: Registry::default(),
            comparisons: Family::default(),
            noise: Family::default(),
            mismatches: Family::default(),
            failures: Family::default(),
            pairs: Family::default(),
            discordant: Family::default(),
            answers: Family::default(),
            thresholds: Mutex::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(DURATION_BUCKETS)),
            bytes: Family::new_with_constructor(|| Histogram::new(SIZE_BUCKETS)),
            dropped: Family::default(),
            unknown: Counter::default(),
            queue_depth: Gauge::default(),
        };
        metrics.register();
        let judges = Judges(routes.to_vec());
        metrics.registry.register_collector(Box::new(judges));
        for watched in routes {
            let thresholds = Thresholds::new(watched.route.file.shadow.slower.clone());
            let mut all = metrics.thresholds.lock().unwrap_or_else(PoisonError::into_inner);
            all.insert(Arc::from(watched.name()), thresholds);
            drop(all);
            let kinds = watched.judge.kinds().into_iter().map(|kind| kind.to_string());
            metrics.make_series(watched.name(), kinds.collect());
        }
        metrics
    }

    fn register(&mut self) {
        let registry = self.registry.sub_registry_with_prefix("shadow");
        registry.register(
            "comparisons",
            "Requests sent to both sides, by result",
            self.comparisons.clone(),
        );
        registry.register(
            "noise",
            "Requests that only the old side was asked, twice, by whether its answers are the same; cached: a cache gave both",
            self.noise.clone(),
        );
        registry.register(
            "mismatches",
            "Answers that differ, by kind of difference",
            self.mismatches.clone(),
        );
        registry.register(
            "failures",
            "Requests without an answer, by reason",
            self.failures.clone(),
        );
        registry.register("pairs", "Requests that both sides were asked", self.pairs.clone());
        registry.register(
            "discordant",
            "Pairs in which one side alone failed, or was slower than a quantile of the old side's times, the new one by a margin",
            self.discordant.clone(),
        );
        registry.register(
            "answers",
            "Answers of a side in pairs, by class of the status, outages included",
            self.answers.clone(),
        );
        registry.register_with_unit(
            "response",
            "Time from sending a request to the last byte of its answer",
            Unit::Seconds,
            self.seconds.clone(),
        );
        registry.register_with_unit(
            "response",
            "Size of the answer's body, as it came",
            Unit::Bytes,
            self.bytes.clone(),
        );
        registry.register(
            "dropped",
            "Requests dropped because the queue was full",
            self.dropped.clone(),
        );
        registry.register("unknown", "Requests of no route", self.unknown.clone());
        registry.register("queue_depth", "Requests in the queue", self.queue_depth.clone());
        let build = [("version", env!("CARGO_PKG_VERSION"))];
        registry.register("build", "Version of the program", Info::new(build));
        self.registry.register_collector(Box::new(ProcessCollector));
    }

    /// Each guard is dropped at once: it locks the family.
    fn make_series(&self, route: &str, kinds: Vec<String>) {
        let route: Name = Arc::from(route);
        let route = || Arc::clone(&route);
        drop(self.dropped.get_or_create(&OfRoute { route: route() }));
        drop(self.pairs.get_or_create(&OfRoute { route: route() }));
        for (event, worse) in Event::ALL.into_iter().flat_map(|e| Side::ALL.map(|side| (e, side))) {
            drop(self.discordant.get_or_create(&OfEvent { route: route(), event, worse }));
        }
        for result in Outcome::ALL {
            drop(self.comparisons.get_or_create(&OfResult { route: route(), result }));
        }
        for result in ["match", "mismatch", "cached"] {
            drop(self.noise.get_or_create(&OfNoise { route: route(), result }));
        }
        for kind in kinds {
            drop(self.mismatches.get_or_create(&OfKind { route: route(), kind }));
        }
        for side in Side::ALL {
            drop(self.seconds.get_or_create(&OfSide { route: route(), side }));
            drop(self.bytes.get_or_create(&OfSide { route: route(), side }));
            for (_, class) in CLASSES {
                drop(self.answers.get_or_create(&OfClass { route: route(), side, class }));
            }
            for reason in Reason::ALL {
                drop(self.failures.get_or_create(&OfFailure { route: route(), side, reason }));
            }
        }
    }

    pub(crate) fn drop_one(&self, route: &str) {
        self.dropped.get_or_create(&OfRoute { route: Arc::from(route) }).inc();
    }

    /// Counts a pair of answers of the old side.
    pub(crate) fn observe_noise(&self, route: &str, noise: &Noise) {
        let result = match noise {
            Noise::Cached => "cached",
            Noise::Judged(None) => "match",
            Noise::Judged(Some(_)) => "mismatch",
        };
        self.noise.get_or_create(&OfNoise { route: Arc::from(route), result }).inc();
    }

    /// Counts the answers of a comparison, and then the comparison: a scrape that has it has its answers too.
    pub(crate) fn observe(&self, comparison: &Comparison) {
        let route = || Arc::clone(&comparison.route);
        self.pairs.get_or_create(&OfRoute { route: route() }).inc();
        let mut thresholds = self.thresholds.lock().unwrap_or_else(PoisonError::into_inner);
        let took = |side| Took::of(comparison.reply(side));
        let (new, old) = (took(Side::New), took(Side::Old));
        for (event, worse) in thresholds.entry(route()).or_default().discordant(new, old) {
            self.discordant.get_or_create(&OfEvent { route: route(), event, worse }).inc();
        }
        drop(thresholds);
        if let Some(kind) = comparison.verdict.kind() {
            let kind = kind.to_string();
            self.mismatches.get_or_create(&OfKind { route: route(), kind }).inc();
        }
        for side in Side::ALL {
            let reply = comparison.reply(side);
            let status = reply.status().map_or(0, |status| status.as_u16());
            if let Some((_, class)) = CLASSES.iter().find(|(digit, _)| *digit == status / 100) {
                self.answers.get_or_create(&OfClass { route: route(), side, class }).inc();
            }
            match &reply.outcome {
                Ok(answer) => {
                    let label = OfSide { route: route(), side };
                    self.seconds.get_or_create(&label).observe(reply.elapsed.as_secs_f64());
                    self.bytes.get_or_create(&label).observe(answer.received_bytes as f64);
                }
                Err(failure) => {
                    let labels = OfFailure { route: route(), side, reason: failure.reason };
                    self.failures.get_or_create(&labels).inc();
                }
            }
        }
        let result = comparison.verdict.outcome;
        self.comparisons.get_or_create(&OfResult { route: route(), result }).inc();
    }

    /// All metrics in the OpenMetrics text format.
    pub(crate) fn encode(&self) -> Result<String, fmt::Error> {
        encode(&self.registry)
    }
}

/// What the programs of `exec` did.
#[derive(Debug)]
struct Judges(Vec<Arc<Watched>>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfJudgeFailure {
    route: Name,
    reason: &'static str,
}

impl Collector for Judges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let starts = Family::<OfRoute, Counter>::default();
        let failures = Family::<OfJudgeFailure, Counter>::default();
        for watched in &self.0 {
            let Some(stats) = watched.judge.stats() else { continue };
            let route: Name = Arc::from(watched.name());
            starts.get_or_create(&OfRoute { route: Arc::clone(&route) }).inc_by(stats.starts);
            let failed = crate::judge::Failure::ALL
                .map(|failure| (failure.as_str(), stats.failures(failure)));
            let others = [("waiting", stats.waiting), ("busy", stats.busy)];
            for (reason, count) in failed.into_iter().chain(others) {
                let labels = OfJudgeFailure { route: Arc::clone(&route), reason };
                failures.get_or_create(&labels).inc_by(count);
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
