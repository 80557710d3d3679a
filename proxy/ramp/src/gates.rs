//! The gates that a step must pass. The head of `gates.toml` explains every key and value.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use route::Route;

use crate::files;

/// The built-in gates.
const DEFAULT: &str = include_str!("../gates.toml");

/// A file of gates.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gates {
    /// Extends a step's window to before the step began.
    #[serde(deserialize_with = "duration")]
    pub overlap: Duration,
    /// The gates, in the order in which they are shown.
    #[serde(rename = "gate")]
    pub all: Vec<Gate>,
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
    pub otherwise: Otherwise,
    /// When the gate may roll back.
    #[serde(default)]
    pub judge: Judge,
}

/// A comparison of value and limit.
#[derive(Clone, Copy, Debug)]
pub struct Compare {
    /// The operator as text.
    pub operator: &'static str,
    /// Whether the value stands in this relation to the limit.
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
pub enum Otherwise {
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
pub enum Judge {
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
    /// The gates of a route: those of a file, or the standard ones with the route file's changes.
    /// `$route` in a query stands for the route's name.
    ///
    /// # Errors
    /// If a gate is invalid; names the file, the line or the gate, and the problem.
    pub fn load(file: Option<&Path>, route: &Route) -> anyhow::Result<Gates> {
        let of_route = |text: &str| text.replace("$route", &route.name);
        match file {
            Some(file) => Gates::parse(&of_route(&files::read(file)?))
                .with_context(|| file.display().to_string()),
            None => Gates::changed(&of_route(DEFAULT), &route.file.gates)
                .with_context(|| format!("{}.toml", route.name)),
        }
    }

    fn changed(text: &str, changes: &BTreeMap<String, toml::Table>) -> anyhow::Result<Gates> {
        if changes.is_empty() {
            return Gates::parse(text);
        }
        let mut file: toml::Table = toml::from_str(text)?;
        let Some(toml::Value::Array(gates)) = file.get_mut("gate") else { bail!("no gates") };
        for (name, change) in changes {
            let named =
                |gate: &toml::Value| gate.get("name").and_then(toml::Value::as_str) == Some(name);
            let at = gates.iter().position(named);
            let mut gate = match at {
                Some(at) => gates.remove(at).try_into().unwrap_or_default(),
                None => toml::Table::from_iter([("name".to_owned(), name.clone().into())]),
            };
            if let Some(off) = change.get("off") {
                let all: Vec<&str> =
                    gates.iter().filter_map(|gate| gate.get("name")?.as_str()).collect();
                ensure!(off.as_bool() == Some(true), "gates.{name}: off is true or left out");
                ensure!(change.len() == 1, "gates.{name}: off stands alone");
                ensure!(at.is_some(), "gates.{name}: the standard gates are {}", all.join(", "));
                continue;
            }
            gate.extend(change.clone());
            let gate = toml::Value::Table(gate);
            if let Err(error) = gate.clone().try_into::<Gate>() {
                bail!("gates.{name}: {}", error.message().replace('\n', ": "));
            }
            gates.insert(at.unwrap_or(gates.len()), gate);
        }
        Gates::parse(&toml::to_string(&file)?)
    }

    fn parse(text: &str) -> anyhow::Result<Gates> {
        let gates: Gates = toml::from_str(text).map_err(|error| in_one_line(text, &error))?;
        ensure!(!gates.all.is_empty(), "no gates: every step would pass");
        for (number, gate) in gates.all.iter().enumerate() {
            let is_part = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            let named = !gate.name.is_empty() && gate.name.bytes().all(is_part);
            ensure!(named, "gate {:?}: a name consists of a-z, 0-9 and hyphens", gate.name);
            let twice = gates.all[..number].iter().any(|other| other.name == gate.name);
            ensure!(!twice, "gate {:?} is defined twice", gate.name);
        }
        Ok(gates)
    }
}

fn in_one_line(text: &str, error: &toml::de::Error) -> anyhow::Error {
    let line = error.span().map(|span| 1 + text[..span.start].matches('\n').count());
    let line = line.map_or(String::new(), |line| format!("line {line}: "));
    anyhow::anyhow!("{line}{}", error.message().replace('\n', ": "))
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    parse_duration(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| format!("{text:?}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_gates_are_valid() {
        let gates = Gates::load(None, &route("")).expect("valid");
        assert!(gates.all.len() >= 8);
        assert!(gates.all.iter().all(|gate| !gate.query.contains("$route")));
    }

    fn route(gates: &str) -> Route {
        Route::parse("report", &format!("path = \"/report\"\n{gates}")).expect("a route")
    }

    #[test]
    fn a_route_file_changes_adds_and_leaves_out_gates() {
        let gates = route(
            "[gates.p99-seconds]\nmargin = 0.5\n[gates.fallbacks]\noff = true\n\
             [gates.mine]\nquery = \"a{route='$route'}\"\ncompare = \"<\"\nlimit = 1\n",
        );
        let gates = Gates::load(None, &gates).expect("valid").all;
        let named = |name: &str| gates.iter().find(|gate| gate.name == name);
        assert!(named("p99-seconds").is_some_and(|gate| gate.margin == 0.5));
        assert!(named("fallbacks").is_none() && named("mine").is_some());
        for (text, problem) in [
            ("[gates.mine]\nlimit = 1\n", "report.toml: gates.mine: missing field `query`"),
            ("[gates.p99-seconds]\nmargins = 1\n", "gates.p99-seconds: unknown field `margins`"),
            ("[gates.mine]\noff = true\n", "gates.mine: the standard gates are"),
        ] {
            let error = format!("{:#}", Gates::load(None, &route(text)).expect_err(text));
            assert!(error.contains(problem) && error.lines().count() == 1, "{error}");
        }
    }

    #[test]
    fn an_error_in_a_file_names_the_line() {
        let head = "overlap = \"10s\"\n";
        let gate = "[[gate]]\nname = \"a\"\nquery = \"1\"\ncompare = \"==\"\n";
        let with = |rest: &str| format!("{head}{gate}{rest}");
        for (text, problem) in [
            (String::new(), "missing field `overlap`"),
            ("overlap = \"10 parsecs\"\n".to_owned(), "line 1: \"10 parsecs\""),
            (format!("{head}gate = []\n"), "no gates"),
            (with(""), "missing field `limit`"),
            (with("limit = 0\nwindow = \"stop\"\n"), "line 7: \"stop\""),
            (with("limit = 0\notherwise = \"panic\"\n"), "line 7: unknown variant"),
            (with("limit = 0\n").replace("==", "="), "line 5: \"=\": must be ==, <, <=, > or >="),
            (with("limit = 0\nlimits = 0\n"), "line 7: unknown field `limits`"),
            (with("limit = 0\n").replace("\"a\"", "\"A\""), "gate \"A\""),
            (with(&format!("limit = 0\n{gate}limit = 1\n")), "gate \"a\" is defined twice"),
        ] {
            let error = format!("{:#}", Gates::parse(&text).expect_err(&text));
            assert!(error.contains(problem) && error.lines().count() == 1, "{error}");
        }
    }
}
