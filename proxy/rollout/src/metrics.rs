//! Metrics for Prometheus in `ramp.prom`. The admin listener of nginx serves the file at
//! `/ramp/metrics`, so Prometheus can scrape it between runs too.

use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant, SystemTime};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use evidence::{Judgement, Verdict};

use crate::folder::{prepared, route_dir};
use crate::split::{Split, current};
use crate::state::{Phase, State};
use crate::{export, files, pulse, stop_file};

type Number = Gauge<f64, AtomicU64>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfRoute {
    route: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfVerdict {
    route: String,
    verdict: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfPhase {
    route: String,
    phase: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfGate {
    route: String,
    gate: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfGateVerdict {
    route: String,
    gate: String,
    verdict: &'static str,
}

#[derive(Default)]
struct Metrics {
    share: Family<OfRoute, Number>,
    mirror_share: Family<OfRoute, Number>,
    step: Family<OfRoute, Number>,
    steps: Family<OfRoute, Number>,
    start_share: Family<OfRoute, Number>,
    next_share: Family<OfRoute, Number>,
    hold_ends: Family<OfRoute, Number>,
    active: Family<OfRoute, Gauge>,
    heartbeat: Family<OfRoute, Number>,
    braked: Family<OfRoute, Gauge>,
    stopped: Family<OfRoute, Gauge>,
    stopped_since: Family<OfRoute, Number>,
    phase: Family<OfPhase, Gauge>,
    verdict: Family<OfVerdict, Gauge>,
    gate_verdict: Family<OfGateVerdict, Gauge>,
    gate_value: Family<OfGate, Number>,
    gate_limit: Family<OfGate, Number>,
    gate_lower: Family<OfGate, Number>,
    gate_upper: Family<OfGate, Number>,
}

/// How often the metrics are written though nothing has changed: their time shows that this runs.
const EVERY: Duration = Duration::from_secs(5);

/// When the metrics were last written.
#[derive(Debug, Default)]
pub(crate) struct Written(Option<Instant>);

impl Written {
    /// Writes them if something has changed, or it is time to.
    pub(crate) fn write(&mut self, nginx_dir: &Path, has_changed: bool) -> anyhow::Result<()> {
        if !has_changed && self.0.is_some_and(|when| when.elapsed() < EVERY) {
            return Ok(());
        }
        self.0 = Some(Instant::now());
        write(nginx_dir)
    }
}

/// Writes the metrics of every route's split and, if nobody has set the share since, of its last run. All of it is in the
/// routes' own files, so whichever run writes last writes the same.
pub(crate) fn write(nginx_dir: &Path) -> anyhow::Result<()> {
    let metrics = Metrics::default();
    for route in prepared(nginx_dir) {
        let dir = route_dir(nginx_dir, &route);
        let Ok(split) = current(&dir) else { continue }; // another process writes it right now
        metrics.add_split(&route, &split);
        let of = OfRoute { route: route.clone() };
        let is_braked = stop_file::is_brake(nginx_dir, &route);
        let is_stopped = !is_braked && stop_file::is_here(nginx_dir, &route);
        metrics.braked.get_or_create(&of).set(is_braked.into());
        metrics.stopped.get_or_create(&of).set(is_stopped.into());
        let since = stop_file::since(nginx_dir, &route).filter(|_| is_stopped);
        let since = since.map_or(0.0, since_1970);
        metrics.stopped_since.get_or_create(&of).set(since);
        metrics.active.get_or_create(&of).set(0);
        if let Some(beat) = pulse::last(&dir) {
            metrics.heartbeat.get_or_create(&of).set(since_1970(beat));
        }
        let run = State::load(&dir)?.filter(|run| !run.is_past);
        if let Some(run) = run {
            metrics.add_run(&route, &run);
        }
    }
    let mut text = String::new();
    encode(&mut text, &metrics.registry())?;
    files::replace(&nginx_dir.join("ramp.prom"), &text)?;
    export::write(nginx_dir)
}

fn since_1970(time: SystemTime) -> f64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

impl Metrics {
    fn registry(self) -> Registry {
        let mut registry = Registry::default();
        registry.register("ramp_share_percent", "The new side's share", self.share);
        let help = "The mirrored share of the route's requests";
        registry.register("ramp_mirror_share_percent", help, self.mirror_share);
        let updated = Number::default();
        updated.set(since_1970(SystemTime::now()));
        let help = "Time at which this was written";
        registry.register("ramp_updated_timestamp_seconds", help, updated);
        registry.register("ramp_step", "The number of the step, from 1", self.step);
        registry.register("ramp_steps", "The number of steps", self.steps);
        let help = "The share that a rollback returns to";
        registry.register("ramp_start_share_percent", help, self.start_share);
        let help = "The share of the next step; none at the last one";
        registry.register("ramp_next_share_percent", help, self.next_share);
        let help = "When the step will have been held for its time";
        registry.register("ramp_hold_ends_timestamp_seconds", help, self.hold_ends);
        let help = "1 while a run is unfinished, whether it has a process or not";
        registry.register("ramp_run_active", help, self.active);
        let help = "The last heartbeat of a run's process";
        registry.register("ramp_heartbeat_timestamp_seconds", help, self.heartbeat);
        let help = "1 while the old side answers everything because a run goes back";
        registry.register("ramp_braked", help, self.braked);
        let help = "1 while the route is stopped";
        registry.register("ramp_stopped", help, self.stopped);
        let help = "Since when the route has been stopped; 0 if it is not";
        registry.register("ramp_stopped_since_timestamp_seconds", help, self.stopped_since);
        registry.register("ramp_phase", "1 for the phase of the run", self.phase);
        registry.register("ramp_verdict", "1 for the last verdict on the step", self.verdict);
        let help = "1 for the last verdict of the gate";
        registry.register("ramp_gate_verdict", help, self.gate_verdict);
        registry.register(
            "ramp_gate_value",
            "The value of the gate; of a test, the difference",
            self.gate_value,
        );
        let help = "The limit of the gate, including its margin";
        registry.register("ramp_gate_limit", help, self.gate_limit);
        let help = "The lower end of a test's difference; above the limit, the run goes back";
        registry.register("ramp_gate_lower", help, self.gate_lower);
        registry.register(
            "ramp_gate_upper",
            "The upper end of a test's difference",
            self.gate_upper,
        );
        registry
    }

    fn add_split(&self, route: &str, split: &Split) {
        let of = OfRoute { route: route.to_owned() };
        self.share.get_or_create(&of).set(split.share_percent.into());
        self.mirror_share.get_or_create(&of).set(split.mirror_percent.into());
    }

    fn add_run(&self, route: &str, run: &State) {
        let of = OfRoute { route: route.to_owned() };
        let count = |number: usize| u32::try_from(number).map_or(f64::NAN, f64::from);
        self.step.get_or_create(&of).set(count(run.step + 1));
        self.steps.get_or_create(&of).set(count(run.plan.steps.len()));
        self.start_share.get_or_create(&of).set(run.start_share.into());
        if let Some(share) = run.next_share() {
            self.next_share.get_or_create(&of).set(share.into());
        }
        if let Some(ends) = run.hold_ends {
            self.hold_ends.get_or_create(&of).set(since_1970(ends));
        }
        self.active.get_or_create(&of).set(run.phase.is_unfinished().into());
        for (phase, name) in Phase::NAMES {
            let of = OfPhase { route: route.to_owned(), phase: name };
            self.phase.get_or_create(&of).set((phase == run.phase).into());
        }
        if let Some(judgement) = &run.judgement {
            self.add_judgement(route, judgement);
        }
    }

    fn add_judgement(&self, route: &str, judgement: &Judgement) {
        let route = || route.to_owned();
        for verdict in Verdict::ALL {
            let is = verdict == judgement.verdict;
            let of = OfVerdict { route: route(), verdict: verdict.as_str() };
            self.verdict.get_or_create(&of).set(is.into());
        }
        for reading in &judgement.readings {
            let gate = || reading.gate.clone();
            for verdict in Verdict::ALL {
                let is = verdict == reading.verdict;
                let of = OfGateVerdict { route: route(), gate: gate(), verdict: verdict.as_str() };
                self.gate_verdict.get_or_create(&of).set(is.into());
            }
            let of = OfGate { route: route(), gate: gate() };
            let ends =
                reading.difference.as_ref().map(|difference| (difference.lower, difference.upper));
            let (lower, upper) = ends.unwrap_or_default();
            for (family, number) in [
                (&self.gate_value, reading.value),
                (&self.gate_limit, reading.limit),
                (&self.gate_lower, lower),
                (&self.gate_upper, upper),
            ] {
                if let Some(number) = number {
                    family.get_or_create(&of).set(number);
                }
            }
        }
    }
}
