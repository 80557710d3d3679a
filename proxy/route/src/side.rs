//! What a route file says of one side.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::units::{BaseUrl, Time};

/// A side of a route.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Side {
    /// What screens call it, such as Node or Rust.
    #[schemars(length(max = 30))]
    pub name: Option<String>,
    /// Where it is: http://HOST:PORT. By default it is the side of all routes.
    #[schemars(with = "Option<String>")]
    pub url: Option<BaseUrl>,
    /// For the judge session: its admin listener, if it has /sessions and /held. If both sides have one, the
    /// shadow plays sessions of clients again on both.
    #[schemars(with = "Option<String>")]
    pub admin: Option<BaseUrl>,
    /// How long connecting may take.
    #[schemars(with = "String")]
    pub connect_timeout: Time,
    /// How long it may be silent before and during an answer.
    #[schemars(with = "String")]
    pub timeout: Time,
    /// Whether an answer 500 means that its pod is bad: nginx then asks another pod, and gives one with three
    /// such answers a pause. For a side that no client can make answer so, and where nginx knows its pods.
    pub retry_500: bool,
}

impl Default for Side {
    fn default() -> Self {
        Side {
            name: None,
            url: None,
            admin: None,
            connect_timeout: Time(Duration::from_secs(1)),
            timeout: Time(Duration::from_secs(10)),
            retry_500: false,
        }
    }
}
