//! The shadow's metrics.
//!
//! | metric | labels |
//! | --- | --- |
//! | `shadow_comparisons_total` | result |
//! | `shadow_mismatches_total` | kind |
//! | `shadow_failures_total` | side, reason |
//! | `shadow_response_seconds`, `shadow_response_bytes` | side |
//! | `shadow_dropped_total`, `shadow_queue_depth` | |
//! | `shadow_build_info` | version |
//! | `process_*` | see `service_kit::metrics` |
//!
//! Every series exists from the start, because `rate` misses the first increment of a new one. Times
//! and sizes are those of answers; failures are only counted.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use service_kit::metrics::{DURATION_BUCKETS, ProcessCollector, SIZE_BUCKETS, encode};

use crate::client::Reason;
use crate::comparison::Comparison;
use crate::side::Side;
use crate::verdict::{Kind, Outcome};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabel {
    result: Outcome,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabel {
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SideLabel {
    side: Side,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FailureLabels {
    side: Side,
    reason: Reason,
}

pub(crate) struct Metrics {
    registry: Registry,
    comparisons: Family<ResultLabel, Counter>,
    mismatches: Family<KindLabel, Counter>,
    failures: Family<FailureLabels, Counter>,
    seconds: Family<SideLabel, Histogram>,
    bytes: Family<SideLabel, Histogram>,
    pub(crate) dropped: Counter,
    pub(crate) queue_depth: Gauge,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut metrics = Metrics {
            registry: Registry::default(),
            comparisons: Family::default(),
            mismatches: Family::default(),
            failures: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(DURATION_BUCKETS)),
            bytes: Family::new_with_constructor(|| Histogram::new(SIZE_BUCKETS)),
            dropped: Counter::default(),
            queue_depth: Gauge::default(),
        };
        metrics.register();
        metrics.make_series();
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
            "mismatches",
            "Answers that differ, by kind of difference",
            self.mismatches.clone(),
        );
        registry.register(
            "failures",
            "Requests without an answer, by reason",
            self.failures.clone(),
        );
        registry.register_with_unit(
            "response",
            "Time from sending a request to the last byte of its answer",
            Unit::Seconds,
            self.seconds.clone(),
        );
        registry.register_with_unit(
            "response",
            "Size of the answer's body",
            Unit::Bytes,
            self.bytes.clone(),
        );
        registry.register(
            "dropped",
            "Requests dropped because the queue was full",
            self.dropped.clone(),
        );
        registry.register("queue_depth", "Requests in the queue", self.queue_depth.clone());
        let build = [("version", env!("CARGO_PKG_VERSION"))];
        registry.register("build", "Version of the program", Info::new(build));
        self.registry.register_collector(Box::new(ProcessCollector));
    }

    /// Each guard is dropped at once: it locks the family.
    fn make_series(&self) {
        for result in Outcome::ALL {
            drop(self.comparisons.get_or_create(&ResultLabel { result }));
        }
        for kind in Kind::ALL {
            drop(self.mismatches.get_or_create(&KindLabel { kind }));
        }
        for side in Side::ALL {
            drop(self.seconds.get_or_create(&SideLabel { side }));
            drop(self.bytes.get_or_create(&SideLabel { side }));
            for reason in Reason::ALL {
                drop(self.failures.get_or_create(&FailureLabels { side, reason }));
            }
        }
    }

    pub(crate) fn observe(&self, comparison: &Comparison) {
        let result = comparison.verdict.outcome;
        self.comparisons.get_or_create(&ResultLabel { result }).inc();
        if let Some(kind) = comparison.verdict.kind {
            self.mismatches.get_or_create(&KindLabel { kind }).inc();
        }
        for side in Side::ALL {
            let reply = comparison.reply(side);
            match &reply.outcome {
                Ok(seen) => {
                    let label = SideLabel { side };
                    self.seconds.get_or_create(&label).observe(reply.elapsed.as_secs_f64());
                    self.bytes.get_or_create(&label).observe(seen.body.len() as f64);
                }
                Err(failure) => {
                    let labels = FailureLabels { side, reason: failure.reason };
                    self.failures.get_or_create(&labels).inc();
                }
            }
        }
    }

    /// All metrics in the OpenMetrics text format.
    pub(crate) fn encode(&self) -> String {
        encode(&self.registry)
    }
}
