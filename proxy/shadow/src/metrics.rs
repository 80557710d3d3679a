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
//! Every series is there from the start, or a rate would miss its first step. Times and sizes are
//! those of answers; a failure has none that could be compared, and is counted instead.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use service_kit::metrics::{DURATION_BUCKETS, ProcessCollector, SIZE_BUCKETS, encode};

use crate::comparison::Comparison;
use crate::side::{Reason, Side};
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

/// All metrics of one shadow.
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
        registry.register("comparisons", "Requests asked of both", self.comparisons.clone());
        registry.register("mismatches", "Answers that differ, by what", self.mismatches.clone());
        registry.register("failures", "Requests without an answer", self.failures.clone());
        registry.register_with_unit(
            "response",
            "Time from asking to the last byte of the answer",
            Unit::Seconds,
            self.seconds.clone(),
        );
        registry.register_with_unit(
            "response",
            "Size of an answer's body",
            Unit::Bytes,
            self.bytes.clone(),
        );
        registry.register("dropped", "Requests that found the queue full", self.dropped.clone());
        registry.register("queue_depth", "Requests that wait", self.queue_depth.clone());
        let build = [("version", env!("CARGO_PKG_VERSION"))];
        registry.register("build", "What is running", Info::new(build));
        self.registry.register_collector(Box::new(ProcessCollector::new()));
    }

    /// What is made is in the families; the guard of each has to go before the next.
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
