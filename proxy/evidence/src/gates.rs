//! The gates that a step must pass. The head of `gates.toml` explains every key and value.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use route::{Counters, Route, Share};

/// The built-in gates.
pub const DEFAULT: &str = include_str!("../gates.toml");
/// The built-in gates of routes of sessions, which the shadow does not compare.
const OF_SESSIONS: &str = include_str!("../gates-session.toml");

/// The changes of routes whose traffic a gateway moves.
const OF_GATEWAYS: &str = include_str!("../gates-gateway.toml");
/// What needs the shadow.
const OF_SHADOW: [&str; 5] =
    ["pair-failures", "pair-latency", "shadow-answers", "comparisons", "mismatches"];

/// A file of gates. The default has no gates, for a run that only rolls back.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gates {
    /// By how much a step's window begins before the step.
    #[serde(deserialize_with = "duration")]
    pub overlap: Duration,
    /// The highest probability with which the tests may roll back a run of equal sides.
    #[serde(default = "one_percent")]
    pub alpha: f64,
    /// The length of a block of time: a bunch of events within it weighs as much as one event. After a move, a time of
    /// this length is left out.
    #[serde(default = "five_seconds", deserialize_with = "duration")]
    pub block: Duration,
    /// The gateway's counters, which stand for the edge's. `None` if nginx moves the traffic.
    #[serde(skip)]
    pub counters: Option<Counters>,
    /// The time, in seconds, beyond which an answer counts as a failure on both sides: the largest bound of the edge's
    /// histogram within the shorter timeout. `None` if both sides have the same timeout.
    #[serde(skip)]
    pub equal_timeout: Option<f64>,
    /// The tests, in the order in which they are shown.
    #[serde(rename = "test", default)]
    pub tests: Vec<Test>,
    /// The gates, in the order in which they are shown.
    #[serde(rename = "gate", default)]
    pub all: Vec<Gate>,
}

fn one_percent() -> f64 {
    0.01
}

fn five_seconds() -> Duration {
    Duration::from_secs(5)
}

/// A test of evidence that the new side is worse.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// The name, as a gate's.
    pub name: String,
    /// An explanation of the counts.
    #[serde(default)]
    pub about: String,
    /// What is counted.
    pub counts: Quantity,
    /// The difference that matters, as a ratio of requests or pairs. A smaller difference never rolls back.
    pub excess: f64,
    /// The ratio of failures above which a run is rolled back, whatever the old side does.
    pub absolute: Option<f64>,
    /// The time above which an answer is slow: a bound of the edge's histogram.
    #[serde(default, deserialize_with = "some_duration")]
    pub above: Option<Duration>,
    /// The test passes only once it is proven that the new side's ratio is at most this much above the old side's.
    pub proof: Option<f64>,
    /// The series to count, if the test counts `own`.
    pub own: Option<Own>,
}

/// Counters of the two sides: PromQL selectors such as `pairs_total{job="new"}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Own {
    /// The new side's counters.
    pub new: String,
    /// The old side's counters.
    pub old: String,
    /// The labels of good series. Series with other values of these labels are bad.
    pub good: BTreeMap<String, String>,
    /// How long a counted session may last. For this time after a move nothing is counted, since broken sessions end,
    /// and are counted, before whole ones that began with them.
    #[serde(default, deserialize_with = "duration")]
    pub lasts: Duration,
}

/// What a test counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Requests assigned to a side that it failed.
    Failures,
    /// Requests assigned to a side that took long.
    Slow,
    /// The time that a side was out of service.
    Outages,
    /// A side's own answers by class of status.
    Statuses,
    /// A side's own answers without a body.
    Empty,
    /// The shadow's pairs in which only one side failed.
    PairFailures,
    /// The shadow's pairs in which only one side was slow.
    PairLatency,
    /// Differing pairs of both sides, compared with differing pairs of the old side's own answers.
    Differences,
    /// The statuses that clients get, compared with those that the shadow gets from the old side.
    ShadowAnswers,
    /// The new side's share of the requests, compared with the configured one.
    SampleRatio,
    /// The sides' own counters.
    Own,
}

/// One gate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// The name, also used as a label: a-z, 0-9 and hyphens.
    pub name: String,
    /// The meaning of the value.
    #[serde(default)]
    pub about: String,
    /// The PromQL of the value.
    pub query: String,
    /// The comparison of value and limit.
    pub compare: Compare,
    /// The limit.
    pub limit: Limit,
    /// Added to the limit.
    #[serde(default)]
    pub margin: f64,
    /// The time that `$window` stands for.
    #[serde(default)]
    pub window: Window,
    /// The consequence if the comparison is false.
    #[serde(default)]
    pub otherwise: Consequence,
    /// When the gate may roll back.
    #[serde(default)]
    pub judge: RollbackTiming,
    /// PromQL of counts by label, which show why the gate waits.
    pub because: Option<String>,
}

/// A comparison of value and limit.
#[derive(Clone, Copy, Debug)]
pub struct Compare {
    /// The operator as text.
    pub operator: &'static str,
    /// Whether the comparison of value and limit is true.
    pub holds: fn(&f64, &f64) -> bool,
}

impl<'de> Deserialize<'de> for Compare {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (operator, holds): (_, fn(&f64, &f64) -> bool) = match text.as_str() {
            "==" => ("==", f64::eq),
            "<" => ("<", f64::lt),
            "<=" => ("<=", f64::le),
            ">" => (">", f64::gt),
            ">=" => (">=", f64::ge),
            _ => return Err(D::Error::custom(format!("{text:?}: must be ==, <, <=, > or >="))),
        };
        Ok(Compare { operator, holds })
    }
}

/// The limit of a gate.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Limit {
    /// A constant.
    Number(f64),
    /// PromQL that gives a number.
    Query(String),
}

/// The time range of a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Window {
    /// The time since the step began, plus the overlap.
    #[default]
    Step,
    /// A fixed time.
    Fixed(Duration),
}

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.as_str() {
            "step" => Ok(Window::Step),
            text => parse_duration(text).map(Window::Fixed).map_err(D::Error::custom),
        }
    }
}

/// The consequence of a gate whose comparison is false.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Consequence {
    /// The run rolls back.
    #[default]
    #[serde(rename = "roll back")]
    RollBack,
    /// The step waits for more data.
    #[serde(rename = "wait")]
    Wait,
}

/// When a gate whose comparison is false may roll back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum RollbackTiming {
    /// At once.
    #[serde(rename = "at once")]
    AtOnce,
    /// As soon as every `wait` gate passes.
    #[default]
    #[serde(rename = "with enough")]
    WithEnough,
    /// When the step's time is over and every `wait` gate passes.
    #[serde(rename = "at the end")]
    AtTheEnd,
}

impl Gates {
    /// The gates of a route: the standard ones with the route file's changes. `$route` in a query stands for the
    /// route's name. Fails if a gate is invalid; the error names the route's file, the gate, and the problem.
    pub fn of(route: &Route) -> anyhow::Result<Gates> {
        let standard = if route.is_session() { OF_SESSIONS } else { DEFAULT };
        let mut changes = of_gateway(route)?;
        for (name, change) in &route.file.gates {
            let all = changes.entry(name.clone()).or_default();
            // The file's own word on whether there is such a gate, and on its keys.
            if all.contains_key("off") || change.contains_key("off") {
                all.clear();
            }
            all.extend(change.clone());
        }
        let gates = Gates::changed(&of_route(standard, route), &changes);
        Ok(gates.with_context(|| format!("{}.toml", route.name))?.for_route(route))
    }

    /// The gates in a file's text, for a route. Fails if a gate is invalid; the error names the line or the gate, and
    /// the problem.
    pub fn of_text(text: &str, route: &Route) -> anyhow::Result<Gates> {
        Ok(Gates::parse(&of_route(text, route))?.for_route(route))
    }

    /// Sets `equal_timeout`, and keeps either the test of differences or the gate `mismatches`. If the shadow measures
    /// how often the old side differs from itself, a single difference is no fault, so the test replaces the gate.
    fn for_route(mut self, route: &Route) -> Gates {
        let (new, old) = (route.file.new.timeout().0, route.file.old.timeout().0);
        let is_within = |bound: &f64| *bound <= new.min(old).as_secs_f64();
        let within = service_kit::DURATION_BUCKETS.into_iter().rfind(is_within);
        self.equal_timeout = within.filter(|_| new != old && !route.is_session());
        self.counters = route.counters();
        if route.file.shadow.noise == Share::NONE {
            self.tests.retain(|test| test.counts != Quantity::Differences);
        } else if !route.file.gates.contains_key("mismatches") {
            self.all.retain(|gate| gate.name != "mismatches");
        }
        self
    }

    fn changed(text: &str, changes: &BTreeMap<String, toml::Table>) -> anyhow::Result<Gates> {
        if changes.is_empty() {
            return Gates::parse(text);
        }
        let mut file: toml::Table = toml::from_str(text)?;
        for (name, change) in changes {
            let is_test = change.contains_key("counts") || names(&file, "test").contains(name);
            let key = if is_test { "test" } else { "gate" };
            let all = ["test", "gate"].map(|key| names(&file, key)).concat().join(", ");
            let Some(toml::Value::Array(gates)) = file.get_mut(key) else { bail!("no gates") };
            let named =
                |gate: &toml::Value| gate.get("name").and_then(toml::Value::as_str) == Some(name);
            let at = gates.iter().position(named);
            let mut gate = match at {
                Some(at) => gates.remove(at).try_into().unwrap_or_default(),
                None => toml::Table::from_iter([("name".to_owned(), name.clone().into())]),
            };
            if let Some(off) = change.get("off") {
                ensure!(off.as_bool() == Some(true), "gates.{name}: off must be true or left out");
                ensure!(change.len() == 1, "gates.{name}: off must be the only key");
                ensure!(at.is_some(), "gates.{name}: the standard gates are {all}");
                continue;
            }
            gate.extend(change.clone());
            let gate = toml::Value::Table(gate);
            let checked = match key {
                "test" => gate.clone().try_into::<Test>().map(drop),
                _ => gate.clone().try_into::<Gate>().map(drop),
            };
            if let Err(error) = checked {
                bail!("gates.{name}: {}", error.message().replace('\n', ": "));
            }
            gates.insert(at.unwrap_or(gates.len()), gate);
        }
        Gates::parse(&toml::to_string(&file)?)
    }

    fn parse(text: &str) -> anyhow::Result<Gates> {
        let gates: Gates = route::parse(text)?;
        ensure!(
            !gates.all.is_empty() || !gates.tests.is_empty(),
            "no gates: every step would pass"
        );
        let tests = gates.tests.iter().map(|test| &test.name);
        let names: Vec<&String> = tests.chain(gates.all.iter().map(|gate| &gate.name)).collect();
        for (number, name) in names.iter().enumerate() {
            let is_part = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            let named = !name.is_empty() && name.bytes().all(is_part);
            ensure!(named, "gate {name:?}: a name consists of a-z, 0-9 and hyphens");
            ensure!(!names[..number].contains(name), "gate {name:?} is defined twice");
        }
        ensure!(
            gates.alpha > 0.0 && gates.alpha <= 0.5,
            "alpha: {}: must be above 0 and at most 0.5",
            gates.alpha
        );
        gates.tests.iter().try_for_each(Test::check)?;
        let own = gates.tests.iter().filter(|test| test.counts == Quantity::Own);
        ensure!(own.count() <= 1, "only one test may have the counts \"own\"");
        Ok(gates)
    }
}

/// The changes to the standard gates if a gateway moves the route's traffic, and perhaps sends the shadow nothing.
fn of_gateway(route: &Route) -> anyhow::Result<BTreeMap<String, toml::Table>> {
    let Some(counters) = route.counters() else { return Ok(BTreeMap::new()) };
    let Counters { new, old, .. } = counters;
    let mut changes: BTreeMap<String, toml::Table> = toml::from_str(OF_GATEWAYS)?;
    for change in changes.values_mut() {
        if let Some(toml::Value::String(query)) = change.get_mut("query") {
            *query = query.replace("$new", &new).replace("$old", &old);
        }
    }
    if route.gateway_shadow().is_none() {
        let off = toml::Table::from_iter([("off".to_owned(), true.into())]);
        changes.extend(OF_SHADOW.map(|name| (name.to_owned(), off.clone())));
    }
    Ok(changes)
}

fn of_route(text: &str, route: &Route) -> String {
    text.replace("$route", &route.name)
}

/// The names of a file's tests or gates.
fn names(file: &toml::Table, key: &str) -> Vec<String> {
    let entries = file.get(key).and_then(toml::Value::as_array).into_iter().flatten();
    entries.filter_map(|one| Some(one.get("name")?.as_str()?.to_owned())).collect()
}

impl Test {
    fn check(&self) -> anyhow::Result<()> {
        let Test { name, counts, .. } = self;
        let ratios =
            [("excess", Some(self.excess)), ("absolute", self.absolute), ("proof", self.proof)];
        for (key, ratio) in ratios {
            let fits = ratio.is_none_or(|ratio| {
                (0.0..1.0).contains(&ratio) && (key == "excess" || ratio > 0.0)
            });
            ensure!(fits, "test {name:?}: {key} must be a ratio, above 0 and below 1");
        }
        ensure!(
            (*counts == Quantity::Slow) == self.above.is_some(),
            "test {name:?}: `above` belongs to the counts \"slow\", and only there"
        );
        ensure!(
            (*counts == Quantity::Own) == self.own.is_some(),
            "test {name:?}: the counts \"own\" and the table `own` belong together"
        );
        ensure!(
            *counts == Quantity::Failures || self.absolute.is_none(),
            "test {name:?}: `absolute` belongs to the counts \"failures\""
        );
        if let Some(above) = self.above {
            let bounds = service_kit::DURATION_BUCKETS;
            let seconds = above.as_secs_f64();
            let all: Vec<String> = bounds.iter().map(|bound| format!("{bound}")).collect();
            ensure!(
                bounds.contains(&seconds),
                "test {name:?}: above: {seconds} must be a bound of the edge's histogram: {}",
                all.join(", ")
            );
        }
        Ok(())
    }
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    parse_duration(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn some_duration<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    duration(from).map(Some)
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| format!("{text:?}: {error}"))
}

#[cfg(test)]
mod tests;
