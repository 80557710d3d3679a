//! What a step has to pass: `gates.toml`, whose head explains every word.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde::{Deserialize, Deserializer};

use crate::files;

/// The gates that come with this program.
const DEFAULT: &str = include_str!("../gates.toml");

/// A file of gates.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gates {
    /// Added to a step's window at its beginning.
    #[serde(deserialize_with = "duration")]
    pub overlap: Duration,
    /// In the order in which they are shown.
    #[serde(rename = "gate")]
    pub all: Vec<Gate>,
}

/// One gate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// Its name, also as a label: a-z, 0-9 and hyphens.
    pub name: String,
    /// What its number is.
    #[serde(default)]
    pub about: String,
    /// PromQL for the number.
    pub query: String,
    /// How it has to stand to the limit.
    pub compare: Compare,
    /// The limit.
    pub limit: Limit,
    /// Added to the limit.
    #[serde(default)]
    pub margin: f64,
    /// What `$window` is.
    #[serde(default)]
    pub window: Window,
    /// What it means where the number does not stand so.
    #[serde(default)]
    pub otherwise: Otherwise,
    /// When it may roll back.
    #[serde(default)]
    pub judge: Judge,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Compare {
    /// Equal.
    #[serde(rename = "==")]
    Equal,
    /// Less.
    #[serde(rename = "<")]
    Less,
    /// At most.
    #[serde(rename = "<=")]
    AtMost,
    /// More.
    #[serde(rename = ">")]
    More,
    /// At least.
    #[serde(rename = ">=")]
    AtLeast,
}

impl Compare {
    /// Whether it holds.
    #[expect(clippy::float_cmp, reason = "a count is a whole number, exactly")]
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Compare::Equal => value == limit,
            Compare::Less => value < limit,
            Compare::AtMost => value <= limit,
            Compare::More => value > limit,
            Compare::AtLeast => value >= limit,
        }
    }

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Compare::Equal => "==",
            Compare::Less => "<",
            Compare::AtMost => "<=",
            Compare::More => ">",
            Compare::AtLeast => ">=",
        }
    }
}

/// What a number is compared with.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Limit {
    /// Always the same.
    Number(f64),
    /// PromQL.
    Query(String),
}

/// What time a gate looks back on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Window {
    /// Since the step began, and the overlap.
    #[default]
    Step,
    /// Always the same.
    Fixed(Duration),
}

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.as_str() {
            "step" => Ok(Window::Step),
            text => parse_duration(text).map(Window::Fixed).map_err(serde::de::Error::custom),
        }
    }
}

/// What a gate that does not hold means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Otherwise {
    /// Something is wrong.
    #[default]
    #[serde(rename = "roll back")]
    RollBack,
    /// There is too little to judge by.
    #[serde(rename = "wait")]
    Wait,
}

/// When a gate that does not hold may roll back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Judge {
    /// As soon as it is seen.
    #[serde(rename = "at once")]
    AtOnce,
    /// As soon as every gate that waits holds.
    #[default]
    #[serde(rename = "with enough")]
    WithEnough,
    /// When the step's time is over, and every gate that waits holds.
    #[serde(rename = "at the end")]
    AtTheEnd,
}

impl Gates {
    /// Those of the file, or the program's own.
    ///
    /// # Errors
    /// Names the file and what is wrong in it.
    pub fn load(file: Option<&Path>) -> anyhow::Result<Gates> {
        let (name, text) = match file {
            Some(file) => (file.display().to_string(), files::read(file)?),
            None => ("gates.toml".to_owned(), DEFAULT.to_owned()),
        };
        Gates::parse(&text).with_context(|| name)
    }

    fn parse(text: &str) -> anyhow::Result<Gates> {
        let gates: Gates = toml::from_str(text).map_err(|error| in_one_line(text, &error))?;
        ensure!(!gates.all.is_empty(), "no gates: every step would pass");
        for (number, gate) in gates.all.iter().enumerate() {
            let is_part = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            let named = !gate.name.is_empty() && gate.name.bytes().all(is_part);
            ensure!(named, "gate {:?}: a name has a-z, 0-9 and hyphens", gate.name);
            let twice = gates.all[..number].iter().any(|other| other.name == gate.name);
            ensure!(!twice, "gate {:?} is there twice", gate.name);
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
    parse_duration(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| format!("{text:?}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_gates_are_valid() {
        assert!(Gates::load(None).expect("valid").all.len() >= 8);
    }

    #[test]
    fn a_bad_file_is_named_with_its_line() {
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
            (with("limit = 0\nlimits = 0\n"), "line 7: unknown field `limits`"),
            (with("limit = 0\n").replace("\"a\"", "\"A\""), "gate \"A\""),
            (with(&format!("limit = 0\n{gate}limit = 1\n")), "gate \"a\" is there twice"),
        ] {
            let error = format!("{:#}", Gates::parse(&text).expect_err(&text));
            assert!(error.contains(problem) && error.lines().count() == 1, "{error}");
        }
    }
}
