//! What the shadow is sent, and what it sends on.

use std::time::Duration;

use anyhow::{bail, ensure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::share::Share;
use crate::units::{Size, Time};

/// What the shadow is sent.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Shadow {
    /// The share of the requests that the shadow gets at first, in percent; `carve split --mirror`
    /// changes it.
    #[schemars(with = "f64", range(min = 0, max = 100))]
    pub percent: Share,
    /// The methods that may be asked twice: by default GET and HEAD, as far as the route has them.
    pub methods: Option<Vec<String>>,
    /// Of the requests that the shadow gets, the share in percent for which it asks the old side twice
    /// instead of both sides: for answers that are never quite the same. The run then goes back if the
    /// sides differ more often than the old one from itself, not at the first difference.
    #[schemars(with = "f64", range(min = 0, max = 90))]
    pub noise: Share,
    /// A parameter of the query that the app ignores. For `noise`, the second question has it with a value that nobody
    /// has asked for, so that no cache gives the first answer again.
    pub fresh_parameter: Option<String>,
    /// How much longer the new side may take than the old one before it counts as slower.
    pub slower: Slower,
    /// The client's headers that both sides get with its request. No credentials unless they are named: a route
    /// for people who have logged in needs `cookie` or `authorization`, and both sides then act as that person
    /// once more. The host, and a body's content-type and content-encoding, go with it anyway.
    pub send_headers: Vec<String>,
    /// The longest body of an answer that is compared, as it comes and decoded. With the judge `bytes` it takes
    /// no memory; with another one, twice its size for each comparison under way.
    #[schemars(with = "String")]
    pub max_answer: Size,
    /// How long each side may take for its whole answer, connecting included; by default as the shadow says.
    #[schemars(with = "Option<String>")]
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
    /// Checks what types cannot.
    ///
    /// # Errors
    /// One line that names the key and says what was meant.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        ensure!(
            self.noise <= Share::percent(90)?,
            "shadow.noise: {}: must be 0 to 90 percent, since the rest compares the sides",
            self.noise
        );
        if let Some(name) = &self.fresh_parameter {
            let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
            ensure!(
                !name.is_empty() && name.bytes().all(is_plain),
                "shadow.fresh_parameter: {name:?}: letters, digits and -._~"
            );
        }
        ensure!(
            self.max_answer.0 > 0,
            "shadow.max_answer: 0: must be more, or nothing is compared"
        );
        for name in &self.send_headers {
            let lower = name.to_ascii_lowercase();
            if lower.starts_with("x-route-") {
                bail!("shadow.send_headers: {name:?}: nginx and the shadow alone use X-Route-");
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
        "it is about one connection, and the shadow has others",
    ),
];

/// The difference of times that matters: the larger of the two. Below it, the side with less traffic is slower
/// because its caches and connections are colder.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Slower {
    /// A share of the old side's time, in percent.
    #[schemars(with = "f64", range(min = 0, max = 100))]
    pub percent: Share,
    /// A time.
    #[schemars(with = "String")]
    pub time: Time,
}

impl Default for Slower {
    fn default() -> Self {
        let percent = Share::percent(10).unwrap_or(Share::NONE);
        Slower { percent, time: Time(Duration::from_millis(5)) }
    }
}

impl Slower {
    /// What the new side may take where the old one takes this.
    pub fn allows(&self, old: Duration) -> Duration {
        old + old.mul_f64(f64::from(self.percent) / 100.0).max(self.time.0)
    }
}
