//! Times, sizes and addresses as route files write them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

/// Lets serde read and write a type as its text, which is a string in a JSON Schema too.
macro_rules! as_text {
    ($name:ident) => {
        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.to_string()
            }
        }

        impl TryFrom<String> for $name {
            type Error = anyhow::Error;

            fn try_from(text: String) -> anyhow::Result<Self> {
                text.parse()
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                String::schema_name()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                String::json_schema(generator)
            }
        }
    };
}

pub(crate) use as_text;

/// A time from 1 ms to an hour, such as `1s` or `250ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Time(pub Duration);

as_text!(Time);

impl Time {
    /// This many seconds.
    pub const fn seconds(seconds: u64) -> Self {
        Time(Duration::from_secs(seconds))
    }
}

impl FromStr for Time {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let problem = || format!("{text:?}: must be a time such as 1s or 250ms, up to 1h");
        let time = humantime::parse_duration(text).ok().with_context(problem)?;
        let fits = time >= Duration::from_millis(1) && time <= Duration::from_secs(3600);
        ensure!(fits && time.subsec_nanos() % 1_000_000 == 0, problem());
        Ok(Time(time))
    }
}

impl fmt::Display for Time {
    /// In the units of nginx.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.subsec_millis() {
            0 => write!(f, "{}s", self.0.as_secs()),
            _ => write!(f, "{}ms", self.0.as_millis()),
        }
    }
}

/// A time of up to 30 days; `0s` for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Days(pub Duration);

as_text!(Days);

impl Days {
    /// A day.
    pub const ONE: Days = Days(Duration::from_secs(24 * 3600));
}

impl FromStr for Days {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let time = humantime::parse_duration(text).ok();
        let time = time.filter(|time| *time <= 30 * Days::ONE.0);
        Ok(Days(time.with_context(|| format!("{text:?}: must be a time of at most 30 days"))?))
    }
}

impl fmt::Display for Days {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

/// A size in bytes, such as `16k` or `2m`; k is 1024 bytes. 0 means no limit, if that is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Size(pub u64);

as_text!(Size);

impl FromStr for Size {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let problem = || format!("{text:?}: must be a size such as 16k or 2m, up to 1024m");
        let (digits, unit) = match text.split_at_checked(text.len().saturating_sub(1)) {
            Some((digits, "k")) => (digits, 1 << 10),
            Some((digits, "m")) => (digits, 1 << 20),
            _ => (text, 1),
        };
        let number: u64 = digits.parse().ok().with_context(problem)?;
        let bytes = number.checked_mul(unit).with_context(problem)?;
        ensure!(bytes <= 1 << 30, problem());
        Ok(Size(bytes))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("0"),
            bytes if bytes % (1 << 20) == 0 => write!(f, "{}m", bytes >> 20),
            bytes if bytes % (1 << 10) == 0 => write!(f, "{}k", bytes >> 10),
            bytes => write!(f, "{bytes}"),
        }
    }
}

/// An address or a network, such as `10.0.0.0/8`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network(pub(crate) String);

as_text!(Network);

impl FromStr for Network {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (address, bits) = text.split_once('/').unwrap_or((text, "0"));
        let most = match address.parse() {
            Ok(std::net::IpAddr::V4(_)) => 32,
            Ok(std::net::IpAddr::V6(_)) => 128,
            Err(_) => 0,
        };
        let valid = most > 0 && bits.parse().is_ok_and(|bits: u8| bits <= most);
        ensure!(valid, "{text:?}: must be an address or a network such as 10.0.0.0/8");
        Ok(Network(text.to_owned()))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a host, such as `app.example`, or `*.app.example` for every name below that; without a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostName(String);

as_text!(HostName);

impl HostName {
    /// The name as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// How many characters of the host `name` this name determines; `None` if it does not cover that host. The name
    /// that determines more is the more exact one.
    pub(crate) fn covers(&self, name: &str) -> Option<usize> {
        match self.0.strip_prefix('*') {
            Some(end) => name.ends_with(end).then_some(end.len()),
            None => (name == self.0).then_some(name.len()),
        }
    }
}

impl FromStr for HostName {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let is_part = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b);
        let is_label = |label: &str| !label.is_empty() && label.bytes().all(is_part);
        let name = text.strip_prefix("*.").unwrap_or(text);
        ensure!(
            text.len() <= 253 && name.split('.').all(is_label),
            "{text:?}: must be the name of a host such as app.example or *.app.example, in small letters, \
             without a port"
        );
        Ok(HostName(text.to_owned()))
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The address of a server: `http://HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BaseUrl(String);

as_text!(BaseUrl);

impl BaseUrl {
    /// HOST:PORT.
    pub fn authority(&self) -> &str {
        &self.0
    }
}

impl FromStr for BaseUrl {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let problem = || format!("{text:?}: must be http://HOST:PORT");
        let authority = text.strip_prefix("http://").with_context(problem)?;
        let authority = authority.strip_suffix('/').unwrap_or(authority);
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port),
            _ => (authority, "80"),
        };
        let number: u16 = port.parse().ok().with_context(problem)?;
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_host = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'.' || b == b'_';
        let valid = match inner {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => !host.is_empty() && host.bytes().all(is_host),
        };
        ensure!(valid && number > 0, problem());
        Ok(BaseUrl(format!("{host}:{number}")))
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.0)
    }
}

#[cfg(test)]
mod tests;
