//! Metrics for Prometheus in `ramp.prom`. The admin listener of nginx serves the file at
//! `/ramp/metrics`, so Prometheus can scrape it between runs too.
//!
//! It serves `state.json` at `/state`, which the proxies of other machines follow. That has the splits, stops and runs of
//! this machine under the keys of a cluster's ConfigMap.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant, SystemTime};

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use serde_json::{Map, Value, json};
use strum::VariantArray;

use evidence::{Judgement, Verdict};

use crate::cluster::key;
use crate::folder::{prepared, route_dir};
use crate::prometheus::seconds;
use crate::split::{Split, current};
use crate::state::{Heartbeat, Phase, State};
use crate::store::{Files, Store};
use crate::{files, pulse, stop_file};

type Number = Gauge<f64, AtomicU64>;
type Labels = Vec<(&'static str, String)>;
/// The metrics by name, each with its help text.
type Families = BTreeMap<&'static str, (&'static str, Family<Labels, Number>)>;

/// How often the metrics are written even if nothing has changed: their timestamp shows that this process is alive.
const EVERY: Duration = Duration::from_secs(5);

/// When the metrics were last written.
#[derive(Debug, Default)]
pub(crate) struct LastWrite(Option<Instant>);

impl LastWrite {
    /// Writes the metrics if something has changed, or if the last write was [`EVERY`] ago.
    pub(crate) fn write(&mut self, nginx_dir: &Path, has_changed: bool) -> anyhow::Result<()> {
        if !has_changed && self.0.is_some_and(|when| when.elapsed() < EVERY) {
            return Ok(());
        }
        self.0 = Some(Instant::now());
        write(nginx_dir)
    }
}

/// Writes the metrics of every route's split and of its last run, unless somebody has set the share since. All values
/// come from the routes' files, so it does not matter which process writes last.
pub(crate) fn write(nginx_dir: &Path) -> anyhow::Result<()> {
    let mut families = Families::new();
    for route in prepared(nginx_dir) {
        let dir = route_dir(nginx_dir, &route);
        let Ok(split) = current(&dir) else { continue }; // another process writes it right now
        let mut of = OfRoute { route: &route, families: &mut families };
        of.add_split(nginx_dir, &split);
        let help = "The last heartbeat of a run's process";
        of.set_if("ramp_heartbeat_timestamp_seconds", help, pulse::last(&dir).map(seconds));
        let run = State::load(&dir)?.filter(|run| !run.is_past);
        let help = "1 while a run is unfinished, whether it has a process or not";
        of.set("ramp_run_active", help, run.as_ref().is_some_and(|it| it.phase.is_unfinished()));
        if let Some(run) = run {
            of.add_run(&run);
        }
    }
    let mut registry = Registry::default();
    for (name, (help, family)) in families {
        registry.register(name, help, family);
    }
    let updated = Number::default();
    updated.set(seconds(SystemTime::now()));
    let help = "The time of the last write of these metrics";
    registry.register("ramp_updated_timestamp_seconds", help, updated);
    let mut text = String::new();
    encode(&mut text, &registry)?;
    files::replace(&nginx_dir.join("ramp.prom"), &text)?;
    export(nginx_dir)
}

/// Writes `state.json` if its content has changed.
pub(crate) fn export(nginx_dir: &Path) -> anyhow::Result<()> {
    let mut data = Map::new();
    for route in prepared(nginx_dir) {
        let dir = route_dir(nginx_dir, &route);
        let Ok(split) = current(&dir) else { continue }; // another process writes it right now
        data.insert(key(&route, "conf"), split.share_file().into());
        let store = Files { nginx_dir: nginx_dir.to_owned(), route: route.clone() };
        if let Some(stop) = store.stop()? {
            data.insert(key(&route, "stop"), stop.text().into());
        }
        if let Some(state) = State::load(&dir)? {
            let beat = pulse::last(&dir).unwrap_or(SystemTime::UNIX_EPOCH);
            let beat = beat.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let beat = u64::try_from(beat.as_millis()).unwrap_or_default();
            // Others do not need the run's counts.
            let told = Heartbeat { beat, holder: None, state: State { trial: None, ..state } };
            data.insert(key(&route, "run"), serde_json::to_string(&told)?.into());
        }
    }
    let (file, text) = (nginx_dir.join("state.json"), json!({ "data": Value::Object(data) }));
    let text = text.to_string();
    if fs::read_to_string(&file).is_ok_and(|before| before == text) {
        return Ok(());
    }
    files::replace(&file, &text)
}

/// The metrics of a route.
struct OfRoute<'a> {
    route: &'a str,
    families: &'a mut Families,
}

impl OfRoute<'_> {
    fn set(&mut self, name: &'static str, help: &'static str, value: impl Into<f64>) {
        self.set_for(name, help, &[], value);
    }

    fn set_if(&mut self, name: &'static str, help: &'static str, value: Option<f64>) {
        if let Some(value) = value {
            self.set(name, help, value);
        }
    }

    fn set_for(
        &mut self,
        name: &'static str,
        help: &'static str,
        others: &[(&'static str, &str)],
        value: impl Into<f64>,
    ) {
        let own = [("route", self.route)];
        let labels = own.iter().chain(others);
        let labels = labels.map(|(label, value)| (*label, (*value).to_owned())).collect();
        let (_, family) = self.families.entry(name).or_insert_with(|| (help, Family::default()));
        family.get_or_create(&labels).set(value.into());
    }

    fn add_split(&mut self, nginx_dir: &Path, split: &Split) {
        self.set("ramp_share_percent", "The new side's share", split.share_percent);
        let help = "The mirrored share of the route's requests";
        self.set("ramp_mirror_share_percent", help, split.mirror_percent);
        let is_braked = stop_file::is_brake(nginx_dir, self.route);
        let is_stopped = !is_braked && stop_file::is_here(nginx_dir, self.route);
        let help = "1 while the old side answers everything because a run goes back";
        self.set("ramp_braked", help, is_braked);
        self.set("ramp_stopped", "1 while the route is stopped", is_stopped);
        let since = stop_file::since(nginx_dir, self.route).filter(|_| is_stopped);
        let help = "Since when the route has been stopped; 0 if it is not";
        self.set("ramp_stopped_since_timestamp_seconds", help, since.map_or(0.0, seconds));
    }

    fn add_run(&mut self, run: &State) {
        let count = |number: usize| u32::try_from(number).map_or(f64::NAN, f64::from);
        self.set("ramp_step", "The number of the step, from 1", count(run.step + 1));
        self.set("ramp_steps", "The number of steps", count(run.plan.steps.len()));
        let help = "The share that a rollback returns to";
        self.set("ramp_start_share_percent", help, run.start_share);
        let next = run.plan.steps.get(run.step + 1).copied();
        let help = "The share of the next step; none at the last one";
        self.set_if("ramp_next_share_percent", help, next.map(Into::into));
        let help = "When the step will have been held for its time";
        self.set_if("ramp_hold_ends_timestamp_seconds", help, run.hold_ends.map(seconds));
        for phase in Phase::VARIANTS {
            let of = [("phase", phase.as_str())];
            self.set_for("ramp_phase", "1 for the phase of the run", &of, *phase == run.phase);
        }
        if let Some(judgement) = &run.judgement {
            self.add_judgement(judgement);
        }
    }

    fn add_judgement(&mut self, judgement: &Judgement) {
        for verdict in Verdict::VARIANTS {
            let (of, is) = ([("verdict", verdict.as_str())], *verdict == judgement.verdict);
            self.set_for("ramp_verdict", "1 for the last verdict on the step", &of, is);
        }
        for reading in &judgement.readings {
            let gate = ("gate", &*reading.gate);
            for verdict in Verdict::VARIANTS {
                let of = [gate, ("verdict", verdict.as_str())];
                let help = "1 for the last verdict of the gate";
                self.set_for("ramp_gate_verdict", help, &of, *verdict == reading.verdict);
            }
            let mut set = |name, help, value| {
                if let Some(value) = value {
                    self.set_for(name, help, &[gate], value);
                }
            };
            let help = "The value of the gate; of a test, the difference";
            set("ramp_gate_value", help, reading.value);
            set("ramp_gate_limit", "The limit of the gate, including its margin", reading.limit);
            let ends = reading.difference.as_ref().map(|it| (it.lower, it.upper));
            let (lower, upper) = ends.unwrap_or_default();
            let help = "The lower end of a test's difference; above the limit, the run goes back";
            set("ramp_gate_lower", help, lower);
            set("ramp_gate_upper", "The upper end of a test's difference", upper);
        }
    }
}
