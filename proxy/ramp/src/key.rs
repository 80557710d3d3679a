//! What decides whether a request belongs to the share.

use std::fmt;
use std::str::FromStr;

use anyhow::ensure;
use serde::{Deserialize, Serialize};

/// What the hash that decides is made from, by nginx' own names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Key {
    /// `arg_text`: one text, one implementation, so that caches agree.
    #[default]
    Text,
    /// `remote_addr`: one client address, one implementation.
    Address,
    /// `request_id`: each request anew.
    Request,
    /// `cookie_NAME`: one value of a cookie, one implementation; its name.
    Cookie(String),
}

impl FromStr for Key {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        // What nginx takes in a variable's name: a cookie called any-thing can't be asked for.
        let is_name = |name: &str| {
            (1..=64).contains(&name.len())
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        };
        let cookie = text.strip_prefix("cookie_").filter(|name| is_name(name));
        let key = match text {
            "arg_text" => Some(Key::Text),
            "remote_addr" => Some(Key::Address),
            "request_id" => Some(Key::Request),
            _ => cookie.map(|name| Key::Cookie(name.to_owned())),
        };
        ensure!(
            key.is_some(),
            "{text:?}: must be arg_text, remote_addr, request_id or cookie_NAME \
             (letters, digits and _)"
        );
        Ok(key.unwrap_or_default())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Text => f.write_str("arg_text"),
            Key::Address => f.write_str("remote_addr"),
            Key::Request => f.write_str("request_id"),
            Key::Cookie(name) => write!(f, "cookie_{name}"),
        }
    }
}

impl From<Key> for String {
    fn from(key: Key) -> String {
        key.to_string()
    }
}

impl TryFrom<String> for Key {
    type Error = anyhow::Error;

    fn try_from(text: String) -> anyhow::Result<Self> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_is_written() {
        for text in ["arg_text", "remote_addr", "request_id", "cookie_user", "cookie_A_1"] {
            assert_eq!(text.parse::<Key>().expect(text).to_string(), text);
        }
        for text in ["", "text", "$arg_text", "cookie_", "cookie_a-b", "cookie_a\"b", "cookie"] {
            let error = text.parse::<Key>().expect_err(text).to_string();
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
    }
}
