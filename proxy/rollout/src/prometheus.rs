//! A client for Prometheus that gives one number per query.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer};
use strum::Display;

use crate::http;

/// A gate is judged again within seconds, so a slower Prometheus counts as unavailable.
const TIMEOUT: Duration = Duration::from_secs(3);

/// A Prometheus server.
#[derive(Clone, Debug)]
pub struct Prometheus {
    /// Its URL, without `/api/v1`.
    pub url: String,
}

/// The reason why a query gives no number.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub enum NoNumber {
    /// Prometheus does not answer, so further queries are not worth a try.
    #[strum(to_string = "{0}")]
    Away(String),
    /// The query is invalid or does not give one number.
    #[strum(to_string = "{0}")]
    Refused(String),
    /// The query matches no series, or the result is NaN.
    #[strum(to_string = "{0}")]
    NoData(&'static str),
}

impl std::error::Error for NoNumber {}

#[derive(Deserialize)]
struct QueryReply {
    data: Option<Data>,
    #[serde(default)]
    error: String,
}

#[derive(Deserialize)]
#[serde(tag = "resultType", content = "result", rename_all = "lowercase")]
enum Data {
    Scalar((f64, String)),
    Vector(Vec<Sample>),
    Matrix(Vec<Series>),
    String(serde::de::IgnoredAny),
}

/// A time in seconds since 1970, as in samples.
pub(crate) fn seconds(time: SystemTime) -> f64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// A range of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    pub(crate) length: Duration,
    /// In seconds since 1970; `None` for now.
    pub(crate) end: Option<f64>,
}

impl Reach {
    /// The last `length` until now.
    pub(crate) fn past(length: Duration) -> Self {
        Reach { length, end: None }
    }
}

/// The labels that identify a series, by name.
pub(crate) type Labels = BTreeMap<String, String>;

/// The samples of a series, as (seconds since 1970, value).
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Series {
    #[serde(rename = "metric")]
    pub(crate) labels: Labels,
    #[serde(rename = "values", deserialize_with = "as_numbers")]
    pub(crate) samples: Vec<(f64, f64)>,
}

impl Series {
    /// The value of a label; empty if there is none.
    pub(crate) fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }
}

fn as_numbers<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(f64, f64)>, D::Error> {
    let samples: Vec<(f64, String)> = Vec::deserialize(from)?;
    let number = |(time, text): (f64, String)| Some((time, text.parse().ok()?));
    Ok(samples.into_iter().filter_map(number).collect())
}

#[derive(Deserialize)]
struct Sample {
    #[serde(default)]
    metric: Labels,
    value: (f64, String),
}

impl Prometheus {
    /// Evaluates a query that gives one number.
    pub fn number(&self, query: &str) -> Result<f64, NoNumber> {
        self.data(query, None).and_then(number_of)
    }

    /// The counts of a query as text, with their labels, such as `40 old too_large`; empty if there are none.
    pub(crate) fn counts(&self, query: &str) -> String {
        let Ok(Data::Vector(samples)) = self.data(query, None) else { return String::new() };
        let count = |sample: &Sample| sample.value.1.parse().unwrap_or(0.0_f64).round();
        let shown = |sample: &Sample| {
            let labels = sample.metric.values().rev().map(String::as_str);
            format!("{} {}", count(sample), labels.collect::<Vec<_>>().join(" "))
        };
        let some = samples.iter().filter(|sample| count(sample) > 0.0);
        some.map(shown).collect::<Vec<_>>().join(", ")
    }

    /// The numbers of a query that gives one for each value of a label.
    pub(crate) fn by_label(
        &self,
        query: &str,
        label: &str,
    ) -> Result<BTreeMap<String, f64>, NoNumber> {
        let Data::Vector(samples) = self.data(query, None)? else {
            return Err(NoNumber::Refused("gives no series".to_owned()));
        };
        let number =
            |mut sample: Sample| Some((sample.metric.remove(label)?, sample.value.1.parse().ok()?));
        Ok(samples.into_iter().filter_map(number).collect())
    }

    /// The raw samples of a selector, such as `up`, within `reach`.
    pub(crate) fn samples(&self, selector: &str, reach: Reach) -> Result<Vec<Series>, NoNumber> {
        let query = format!("{selector}[{}ms]", reach.length.as_millis());
        match self.data(&query, reach.end)? {
            Data::Matrix(series) => Ok(series),
            _ => Err(NoNumber::Refused("gives no range of samples".to_owned())),
        }
    }

    fn data(&self, query: &str, at: Option<f64>) -> Result<Data, NoNumber> {
        let url = format!("{}/api/v1/query", self.url.trim_end_matches('/'));
        let away = |problem: String| NoNumber::Away(format!("Prometheus at {url}: {problem}"));
        let at = at.map(|at| format!("{at:.3}"));
        let time = at.iter().map(|at| ("time", &**at));
        let pairs: Vec<(&str, &str)> = [("query", query)].into_iter().chain(time).collect();
        let (status, body) =
            http::get_with(&url, &pairs, TIMEOUT).map_err(|error| away(error.to_string()))?;
        // Prometheus explains a 400 or 422 in JSON; a proxy's 502 has another body.
        let answer: QueryReply =
            serde_json::from_str(&body).map_err(|_| away(format!("answers {status}")))?;
        match answer.data {
            Some(data) if status == 200 => Ok(data),
            _ if status >= 500 => Err(away(answer.error)),
            _ => Err(NoNumber::Refused(answer.error.replace('\n', " "))),
        }
    }
}

fn number_of(data: Data) -> Result<f64, NoNumber> {
    let text = match data {
        Data::Scalar((_, text)) => text,
        Data::Vector(samples) => match <[Sample; 1]>::try_from(samples) {
            Ok([sample]) => sample.value.1,
            Err(samples) if samples.is_empty() => return Err(NoNumber::NoData("no data")),
            Err(_) => return Err(NoNumber::Refused("gives several series; use sum()".to_owned())),
        },
        Data::Matrix(_) | Data::String(_) => {
            return Err(NoNumber::Refused("gives no number".to_owned()));
        }
    };
    let number = text.parse().ok().filter(|number: &f64| !number.is_nan());
    number.ok_or(NoNumber::NoData("no data (0/0)"))
}
