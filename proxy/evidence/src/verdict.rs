//! The results of gates and tests.

use std::fmt;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// The result of one gate, or of all gates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The value is within the limit.
    Pass,
    /// The value is beyond the limit.
    Fail,
    /// There is too little data yet.
    #[default]
    Inconclusive,
}

impl Verdict {
    /// The name in files, metrics and on the screen.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The value, limit and verdict of one gate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// The gate's name.
    pub gate: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The value, if the query gives one.
    pub value: Option<f64>,
    /// The comparison of value and limit.
    pub compare: String,
    /// The limit including the margin, if there is a value.
    pub limit: Option<f64>,
    /// The reason if there is no value.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub problem: String,
    /// For a test: the difference between the sides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
    /// The counts, and what is missing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// How much higher the new side's rate of bad events is, with bounds that hold at every time. The run rolls back once
/// `lower` is above `limit`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The lower end; `None` while the counts give no lower bound.
    pub lower: Option<f64>,
    /// The counted difference.
    pub estimate: f64,
    /// The upper end; `None` while the counts give no upper bound.
    pub upper: Option<f64>,
    /// The difference that matters.
    pub limit: f64,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let points = |ratio: f64| format!("{:+.2}", 100.0 * ratio);
        write!(f, "new {} points", points(self.estimate))?;
        match (self.lower.map(points), self.upper.map(points)) {
            (Some(lower), Some(upper)) => write!(f, ", between {lower} and {upper}")?,
            (Some(lower), None) => write!(f, ", at least {lower}")?,
            (None, Some(upper)) => write!(f, ", at most {upper}")?,
            (None, None) => {}
        }
        write!(f, "; limit {}", points(self.limit))
    }
}

impl Reading {
    /// A reading without a value.
    pub fn without(gate: &str, problem: impl Into<String>) -> Self {
        Reading { gate: gate.to_owned(), problem: problem.into(), ..Reading::default() }
    }
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.problem.is_empty() {
            return f.write_str(&self.problem);
        }
        let number = |number: Option<f64>| number.map_or("?".to_owned(), short);
        if let Some(difference) = &self.difference {
            return write!(f, "{difference} ({})", self.detail);
        }
        if self.compare.is_empty() {
            return f.write_str(&self.detail);
        }
        write!(f, "{}, must be {} {}", number(self.value), self.compare, number(self.limit))?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, "; {}", self.detail) }
    }
}

/// Formats a number with four significant digits. Prometheus extrapolates, so more digits would suggest false
/// precision.
fn short(number: f64) -> String {
    let digits = 3.0 - number.abs().log10().floor();
    if digits <= 0.0 {
        return format!("{number:.0}");
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 12")]
    let text = format!("{number:.*}", digits.min(12.0) as usize);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The result of all gates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Fail if any gate fails, else inconclusive if any gate is, else pass.
    pub verdict: Verdict,
    /// One reading per gate.
    pub readings: Vec<Reading>,
}

impl Judgement {
    /// The verdict of all readings.
    pub fn of(readings: Vec<Reading>) -> Self {
        let has = |verdict| readings.iter().any(|reading| reading.verdict == verdict);
        let verdict = [Verdict::Fail, Verdict::Inconclusive].into_iter().find(|&v| has(v));
        Judgement { verdict: verdict.unwrap_or(Verdict::Pass), readings }
    }

    /// Adds the readings of tests before those of gates.
    pub fn with(self, mut tests: Vec<Reading>) -> Self {
        tests.extend(self.readings);
        Judgement::of(tests)
    }

    /// Lists the gates with this verdict and their readings in one line. A problem that several have is told once.
    pub fn named(&self, verdict: Verdict) -> String {
        let readings: Vec<_> = self.readings.iter().filter(|it| it.verdict == verdict).collect();
        let mut named = Vec::new();
        for (at, reading) in readings.iter().enumerate() {
            let is_same = |it: &&&Reading| !it.problem.is_empty() && it.problem == reading.problem;
            if readings[..at].iter().any(|it| is_same(&it)) {
                continue;
            }
            named.push(match readings.iter().filter(is_same).count() {
                0 | 1 => format!("{} ({reading})", reading.gate),
                count => format!("{count} gates have no value: {reading}"),
            });
        }
        named.join(", ")
    }
}

#[cfg(test)]
mod tests;
