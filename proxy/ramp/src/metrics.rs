//! Metrics for Prometheus in `ramp.prom`. The admin listener of nginx serves the file at
//! `/ramp/metrics`, so Prometheus can scrape it between runs too.

use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::time::SystemTime;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::files;
use crate::judge::{Judgement, Verdict};
use crate::split::Split;
use crate::state::{Phase, State};

type Number = Gauge<f64, AtomicU64>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfVerdict {
    verdict: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfPhase {
    phase: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfGate {
    gate: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfGateVerdict {
    gate: String,
    verdict: &'static str,
}

/// Writes the metrics of the split and, if there is one, of the run.
pub(crate) fn write(nginx_dir: &Path, split: &Split, run: Option<&State>) -> anyhow::Result<()> {
    let mut registry = Registry::default();
    add_split(&mut registry, split);
    if let Some(run) = run {
        add_run(&mut registry, run);
        if let Some(judgement) = &run.judgement {
            add_judgement(&mut registry, judgement);
        }
    }
    let mut text = String::new();
    encode(&mut text, &registry)?;
    files::replace(&nginx_dir.join("ramp.prom"), &text)
}

fn add(registry: &mut Registry, name: &str, help: &str, value: f64) {
    let gauge = Number::default();
    gauge.set(value);
    registry.register(name, help, gauge);
}

fn add_split(registry: &mut Registry, split: &Split) {
    add(registry, "ramp_share_percent", "The new side's share", split.share_percent.into());
    add(
        registry,
        "ramp_mirror_share_percent",
        "The mirrored share of all requests",
        split.mirror_percent.into(),
    );
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    add(
        registry,
        "ramp_updated_timestamp_seconds",
        "Time at which this was written",
        now.as_secs_f64(),
    );
}

fn add_run(registry: &mut Registry, run: &State) {
    let count = |number: usize| u32::try_from(number).map_or(f64::NAN, f64::from);
    add(registry, "ramp_step", "The number of the step, from 1", count(run.step + 1));
    add(registry, "ramp_steps", "The number of steps", count(run.plan.steps.len()));
    add(
        registry,
        "ramp_start_share_percent",
        "The share that a rollback returns to",
        run.start_share.into(),
    );
    let phases = Family::<OfPhase, Gauge>::default();
    for (phase, name) in Phase::NAMES {
        phases.get_or_create(&OfPhase { phase: name }).set((phase == run.phase).into());
    }
    registry.register("ramp_phase", "1 for the phase of the run", phases);
}

fn add_judgement(registry: &mut Registry, judgement: &Judgement) {
    let verdicts = Family::<OfVerdict, Gauge>::default();
    let gates = Family::<OfGateVerdict, Gauge>::default();
    let values = Family::<OfGate, Number>::default();
    let limits = Family::<OfGate, Number>::default();
    for verdict in Verdict::ALL {
        let is = verdict == judgement.verdict;
        let verdict = verdict.as_str();
        verdicts.get_or_create(&OfVerdict { verdict }).set(is.into());
    }
    for reading in &judgement.readings {
        let gate = OfGate { gate: reading.gate.clone() };
        for verdict in Verdict::ALL {
            let is = verdict == reading.verdict;
            let labels = OfGateVerdict { gate: reading.gate.clone(), verdict: verdict.as_str() };
            gates.get_or_create(&labels).set(is.into());
        }
        for (family, number) in [(&values, reading.value), (&limits, reading.limit)] {
            if let Some(number) = number {
                family.get_or_create(&gate).set(number);
            }
        }
    }
    registry.register("ramp_verdict", "1 for the last verdict on the step", verdicts);
    registry.register("ramp_gate_verdict", "1 for the last verdict of the gate", gates);
    registry.register("ramp_gate_value", "The value of the gate", values);
    registry.register("ramp_gate_limit", "The limit of the gate, including its margin", limits);
}
