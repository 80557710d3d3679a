//! A side of a route, and where it is.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use service_kit::SocketPath;

use crate::units::{BaseUrl, Time, as_text};

/// Where a side is: `http://HOST:PORT`, or `unix:/PATH` on the same machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SideUrl {
    /// A port.
    Tcp(BaseUrl),
    /// A Unix socket.
    Unix(SocketPath),
}

as_text!(SideUrl);

impl SideUrl {
    /// As nginx names a server of a group.
    pub fn server(&self) -> String {
        match self {
            SideUrl::Tcp(url) => url.authority().to_owned(),
            SideUrl::Unix(path) => path.to_string(),
        }
    }

    /// Its port, if it has one.
    pub fn tcp(&self) -> Option<&BaseUrl> {
        match self {
            SideUrl::Tcp(url) => Some(url),
            SideUrl::Unix(_) => None,
        }
    }
}

impl From<BaseUrl> for SideUrl {
    fn from(url: BaseUrl) -> Self {
        SideUrl::Tcp(url)
    }
}

impl FromStr for SideUrl {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        if text.starts_with("unix:") {
            let path = text.parse().map_err(|reason| anyhow::anyhow!("{text:?}: {reason}"))?;
            return Ok(SideUrl::Unix(path));
        }
        text.parse().map(SideUrl::Tcp).map_err(|error| anyhow::anyhow!("{error} or unix:/PATH"))
    }
}

impl fmt::Display for SideUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SideUrl::Tcp(url) => url.fmt(f),
            SideUrl::Unix(path) => path.fmt(f),
        }
    }
}

/// A side of a route.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Side {
    /// The side's name on screens, such as Node or Rust.
    #[schemars(length(max = 30))]
    pub name: Option<String>,
    /// The side's address: http://HOST:PORT, or unix:/PATH for a socket on nginx' machine. By default the side
    /// of all routes.
    #[schemars(with = "Option<String>")]
    pub url: Option<SideUrl>,
    /// How long connecting to the side may take.
    #[schemars(with = "String")]
    pub connect_timeout: Time,
    /// How long the side may be silent before and during an answer.
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
            connect_timeout: Time(Duration::from_secs(1)),
            timeout: Time(Duration::from_secs(10)),
            retry_500: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_a_port_or_a_socket() {
        for (text, server) in [("http://app", "app:80"), ("unix:/run/qr.sock", "unix:/run/qr.sock")]
        {
            assert_eq!(text.parse::<SideUrl>().expect(text).server(), server);
        }
        let long = format!("unix:/{}", "a".repeat(106));
        for (text, problem) in [
            ("x:1", "\"x:1\": must be http://HOST:PORT or unix:/PATH"),
            ("unix:qr.sock", "\"unix:qr.sock\": must be unix:/PATH, from the root"),
            ("unix:/a b", "\"unix:/a b\": the path of a socket must not have ' '"),
            (&long, "the path has 107 bytes, and that of a Unix socket at most 106"),
        ] {
            let error = text.parse::<SideUrl>().expect_err(text).to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
