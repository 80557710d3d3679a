//! The key, by which requests are assigned to a side.

use std::str::FromStr;

use anyhow::bail;
use serde::{Deserialize, Serialize};
use strum::Display;

use crate::units::as_text;

/// The value that nginx hashes to choose a side. Requests with the same value go to the same side.
///
/// If a request lacks the parameter, header or cookie, the client's address takes its place. Otherwise all such
/// requests would share the empty value and move at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Display, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[strum(serialize_all = "snake_case")]
pub enum Key {
    /// `request`: each request by itself, at random.
    #[default]
    Request,
    /// `client`: the client's address.
    Client,
    /// `query`: the whole query.
    Query,
    /// `parameter:NAME`: one parameter of the query.
    #[strum(to_string = "parameter:{0}")]
    Parameter(String),
    /// `header:NAME`.
    #[strum(to_string = "header:{0}")]
    Header(String),
    /// `cookie:NAME`.
    #[strum(to_string = "cookie:{0}")]
    Cookie(String),
}

const WANTED: &str = "must be request, client, query, parameter:NAME, header:NAME or cookie:NAME \
                      (a name has letters, digits and _; a header's also -)";

impl FromStr for Key {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        // nginx' variables $arg_NAME and $cookie_NAME allow no hyphen. In $http_NAME, a header's hyphens become _.
        let is_name = |name: &str, others: &[u8]| {
            let is_part = |b: u8| b.is_ascii_alphanumeric() || others.contains(&b);
            (1..=64).contains(&name.len()) && name.bytes().all(is_part)
        };
        Ok(match text.split_once(':') {
            None if text == "request" => Key::Request,
            None if text == "client" => Key::Client,
            None if text == "query" => Key::Query,
            Some(("parameter", name)) if is_name(name, b"_") => Key::Parameter(name.to_owned()),
            Some(("header", name)) if is_name(name, b"_-") => Key::Header(name.to_owned()),
            Some(("cookie", name)) if is_name(name, b"_") => Key::Cookie(name.to_owned()),
            _ => bail!("{text:?}: {WANTED}"),
        })
    }
}

impl Key {
    /// The nginx variable with the value, without its `$`.
    pub fn variable(&self) -> String {
        match self {
            Key::Request => "request_id".to_owned(),
            Key::Client => "remote_addr".to_owned(),
            Key::Query => "args".to_owned(),
            Key::Parameter(name) => format!("arg_{name}"),
            Key::Header(name) => format!("http_{}", name.to_ascii_lowercase().replace('-', "_")),
            Key::Cookie(name) => format!("cookie_{name}"),
        }
    }

    /// Whether a request may lack the value.
    pub fn may_be_missing(&self) -> bool {
        matches!(self, Key::Parameter(_) | Key::Header(_) | Key::Cookie(_))
    }
}

as_text!(Key);

#[cfg(test)]
mod tests;
