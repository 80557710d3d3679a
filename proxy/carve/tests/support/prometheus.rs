//! A client of Prometheus' HTTP API.

use carve::local::http;
use serde_json::Value;

use crate::support::client;

/// A Prometheus with its URL, without /api/v1.
pub(crate) struct Prometheus(pub(crate) String);

/// A series' labels and its samples: seconds since 1970, value.
pub(crate) type Series = (Value, Vec<(f64, f64)>);

impl Prometheus {
    /// The series that a query finds, now or at a time. Panics with Prometheus' message if Prometheus refuses the
    /// query.
    pub(crate) fn query(&self, query: &str, at: Option<f64>) -> Vec<Series> {
        let mut form = vec![("query", query.to_owned())];
        form.extend(at.map(|at| ("time", at.to_string())));
        let answer = self.post("query", &form);
        assert_eq!(answer["status"], "success", "{query}: {}", answer["error"]);
        let series = answer["data"]["result"].as_array().unwrap_or_else(|| panic!("{query}"));
        series.iter().map(|series| (series["metric"].clone(), samples(series))).collect()
    }

    /// Sends a form by POST to a path below /api/v1.
    pub(crate) fn post(&self, path: &str, form: &[(&str, String)]) -> Value {
        let url = format!("{}/api/v1/{path}", self.0);
        let form = form.iter().map(|(name, value)| (*name, value.as_str()));
        let answer = http::read(client().post(url).send_form(form).unwrap()).unwrap();
        serde_json::from_slice(&answer.body).unwrap_or_else(|_| panic!("{}", answer.text()))
    }
}

fn samples(series: &Value) -> Vec<(f64, f64)> {
    let one = series.get("value").map(std::slice::from_ref);
    let all = one.or(series["values"].as_array().map(Vec::as_slice)).unwrap_or_default();
    let number = |value: &Value| value.as_str().unwrap().parse().unwrap();
    all.iter().map(|sample| (sample[0].as_f64().unwrap(), number(&sample[1]))).collect()
}
