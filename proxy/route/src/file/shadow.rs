//! Which requests the shadow gets, what it sends on, and how it compares.

use std::time::Duration;

use anyhow::{bail, ensure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::share::Share;
use crate::units::{Size, Time};

/// Which requests the shadow gets, and how it compares.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Shadow {
    /// The share of the requests that the shadow gets, in percent. `carve split --mirror` changes it until this value
    /// changes.
    #[schemars(with = "f64", range(min = 0, max = 100))]
    pub percent: Share,
    /// The methods that the shadow may send to both sides: by default those of GET and HEAD that the route has.
    pub methods: Option<Vec<String>>,
    /// For answers that are never quite the same: the share in percent of the shadow's requests that it sends twice to
    /// the old side instead of to both sides. A run then rolls back not at the first difference, but if the sides
    /// differ more often than the old side's own answers.
    #[schemars(with = "f64", range(min = 0, max = 90))]
    pub noise: Share,
    /// A query parameter that the app ignores. For `noise`, the second request gets it with a random value, so that no
    /// cache repeats the first answer.
    pub fresh_parameter: Option<String>,
    /// How much longer the new side may take than the old one before it counts as slower.
    pub slower: Slower,
    /// The client's headers that the shadow sends to both sides. Credentials are sent only if named: a route for
    /// logged-in people needs `cookie` or `authorization`, and both sides then act for that person once more. The host,
    /// and a body's content-type and content-encoding, are always sent.
    pub send_headers: Vec<String>,
    /// The longest body of an answer to compare, both as received and decoded. With the judge `bytes`, bodies longer
    /// than 1 MiB are not kept in memory unless they are encoded; with other judges, each running comparison takes
    /// twice the body's size.
    pub max_answer: Size,
    /// How long each side may take for its whole answer, including the connection; by default the shadow's own setting.
    pub timeout: Option<Time>,
}

impl Default for Shadow {
    fn default() -> Self {
        Shadow {
            percent: Share::percent(10).unwrap_or(Share::NONE),
            methods: None,
            noise: Share::NONE,
            fresh_parameter: None,
            slower: Slower::default(),
            send_headers: vec!["accept".to_owned(), "accept-language".to_owned()],
            max_answer: Size(1 << 20),
            timeout: None,
        }
    }
}

impl Shadow {
    /// Checks the values that their types do not. An error names the key and says what is expected.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        ensure!(
            self.noise <= Share::percent(90)?,
            "shadow.noise: {}: must be 0 to 90 percent, since the other requests compare the sides",
            self.noise
        );
        if let Some(name) = &self.fresh_parameter {
            let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
            ensure!(
                !name.is_empty() && name.bytes().all(is_plain),
                "shadow.fresh_parameter: {name:?}: must have letters, digits and -._~"
            );
        }
        ensure!(
            self.max_answer.0 > 0,
            "shadow.max_answer: 0: must be more, or no body is compared"
        );
        for name in &self.send_headers {
            let lower = name.to_ascii_lowercase();
            if lower.starts_with("x-route-") {
                bail!("shadow.send_headers: {name:?}: only nginx and the shadow use X-Route-");
            }
            if let Some((_, why)) = NOT_SENT.iter().find(|(names, _)| names.contains(&&*lower)) {
                bail!("shadow.send_headers: {name:?}: {why}");
            }
        }
        Ok(())
    }
}

/// Headers that the shadow cannot send along, and why.
const NOT_SENT: [(&[&str], &str); 3] = [
    (
        &["host", "x-request-id", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-port"],
        "the shadow sends it anyway",
    ),
    (
        &["if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range"],
        "each side makes its own tags and times, so only one of them might answer 304 or 412",
    ),
    (
        &[
            "connection",
            "content-length",
            "expect",
            "keep-alive",
            "proxy-authorization",
            "proxy-connection",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade",
        ],
        "it belongs to one connection, and the shadow uses others",
    ),
];

/// The difference of times that counts: the larger of the two values. Smaller differences only show that the side with
/// less traffic has colder caches and connections.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Slower {
    /// A share of the old side's time, in percent.
    #[schemars(with = "f64", range(min = 0, max = 100))]
    pub percent: Share,
    /// A time.
    pub time: Time,
}

impl Default for Slower {
    fn default() -> Self {
        let percent = Share::percent(10).unwrap_or(Share::NONE);
        Slower { percent, time: Time(Duration::from_millis(5)) }
    }
}

impl Slower {
    /// How long the new side may take if the old one takes `old`.
    pub fn allows(&self, old: Duration) -> Duration {
        old + old.mul_f64(f64::from(self.percent) / 100.0).max(self.time.0)
    }
}
