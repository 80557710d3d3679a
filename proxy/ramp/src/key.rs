//! The key that assigns a request to a side.

use std::fmt;
use std::str::FromStr;

use anyhow::ensure;
use serde::{Deserialize, Serialize};

/// The value that nginx hashes to choose a side, named like nginx' variable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Key {
    /// `arg_text`: the same text always goes to the same side, so caches agree.
    #[default]
    Text,
    /// `remote_addr`: the same client address always goes to the same side.
    Address,
    /// `request_id`: each request goes to a random side.
    Request,
    /// `cookie_NAME`: the same value of this cookie always goes to the same side.
    Cookie(String),
}

impl FromStr for Key {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        // nginx' variable names allow no hyphen, so a cookie `some-name` cannot be a key.
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
    fn a_key_displays_as_the_text_it_was_parsed_from() {
        for text in ["arg_text", "remote_addr", "request_id", "cookie_user", "cookie_A_1"] {
            assert_eq!(text.parse::<Key>().expect(text).to_string(), text);
        }
        for text in ["", "text", "$arg_text", "cookie_", "cookie_a-b", "cookie_a\"b", "cookie"] {
            let error = text.parse::<Key>().expect_err(text).to_string();
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
    }
}
