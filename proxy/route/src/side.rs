//! A side of a route, and its address.

use std::fmt;
use std::str::FromStr;

use anyhow::Context;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use service_kit::SocketPath;
use strum::Display;

use crate::units::{BaseUrl, Time, as_text};

/// The address of a side: `http://HOST:PORT`, `unix:/PATH` on the same machine, or a URL with TLS or a path.
#[derive(Clone, Debug, PartialEq, Eq, Display, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SideUrl {
    /// A port.
    #[strum(to_string = "{0}")]
    Tcp(BaseUrl),
    /// A Unix socket.
    #[strum(to_string = "{0}")]
    Unix(SocketPath),
    /// A port whose server uses TLS or has the app below a path.
    #[strum(to_string = "{0}")]
    Far(FarUrl),
}

/// `https://HOST:PORT/PATH`, or `http://` with a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FarUrl {
    /// Whether the server uses TLS.
    pub is_tls: bool,
    /// HOST:PORT.
    pub server: BaseUrl,
    /// The path that the app is below, without a slash at its end; may be empty.
    pub prefix: String,
}

impl FarUrl {
    fn parse(text: &str) -> Option<Self> {
        let (is_tls, rest) = match text.strip_prefix("https://") {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix("http://")?),
        };
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let prefix = path.trim_end_matches('/');
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"/-._~".contains(&b);
        if prefix.contains("//") || !prefix.bytes().all(is_plain) {
            return None;
        }
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
        let port = if is_tls && !has_port { ":443" } else { "" };
        let server = format!("http://{host}{port}").parse().ok()?;
        Some(FarUrl { is_tls, server, prefix: prefix.to_owned() })
    }

    /// The path of the side's `Location` without the prefix, which clients do not know; `None` if the prefix is empty
    /// or the location is not below it.
    pub fn outside<'a>(&self, location: &'a str) -> Option<&'a str> {
        let server = location.strip_prefix("https://").or(location.strip_prefix("http://"));
        let path = server.map_or(Some(location), |it| it.find('/').map(|at| &it[at..]));
        let outside = path?.strip_prefix(&*self.prefix)?;
        (outside.starts_with('/') && !self.prefix.is_empty()).then_some(outside)
    }

    /// The host's name or address.
    pub fn host(&self) -> &str {
        self.server.authority().rsplit_once(':').map_or("", |(host, _)| host)
    }
}

impl fmt::Display for FarUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.server.authority(), self.prefix)
    }
}

as_text!(SideUrl);

impl SideUrl {
    /// The address as nginx writes the server of an upstream group.
    pub fn server(&self) -> String {
        self.tcp().map_or_else(|| self.to_string(), |url| url.authority().to_owned())
    }

    /// HOST:PORT as a URL; `None` for a Unix socket.
    pub fn tcp(&self) -> Option<&BaseUrl> {
        match self {
            SideUrl::Tcp(url) => Some(url),
            SideUrl::Far(url) => Some(&url.server),
            SideUrl::Unix(_) => None,
        }
    }

    /// The URL with TLS or a path; `None` if the address has neither.
    pub fn far(&self) -> Option<&FarUrl> {
        if let SideUrl::Far(url) = self { Some(url) } else { None }
    }
}

impl From<BaseUrl> for SideUrl {
    fn from(url: BaseUrl) -> Self {
        SideUrl::Tcp(url)
    }
}

const WANTED: &str = "must be http://HOST:PORT or unix:/PATH, or a URL with https:// or a path";

impl FromStr for SideUrl {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        if text.starts_with("unix:") {
            let path = text.parse().map_err(|reason| anyhow::anyhow!("{text:?}: {reason}"))?;
            return Ok(SideUrl::Unix(path));
        }
        if let Ok(url) = text.parse() {
            return Ok(SideUrl::Tcp(url));
        }
        let far = FarUrl::parse(text).map(SideUrl::Far);
        far.with_context(|| format!("{text:?}: {WANTED}"))
    }
}

/// A side of a route.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Side {
    /// The side's name on screens, such as Node or Rust.
    #[schemars(length(max = 30))]
    pub name: Option<String>,
    /// The side's address: http://HOST:PORT or https://HOST:PORT, optionally with a path that the app is below, or
    /// unix:/PATH for a socket on nginx' machine. By default the side of all routes.
    pub url: Option<SideUrl>,
    /// How long connecting to the side may take.
    pub connect_timeout: Time,
    /// How long the side may be silent before and during an answer: by default 10 s if the other side then answers, else
    /// as long as the app.
    pub timeout: Option<Time>,
    /// Whether status 500 means that the pod is broken: nginx then asks another pod, and sends a pod with three such
    /// answers no requests for a while. Only for a side that never answers 500 because of a client's request, and whose
    /// pods nginx knows.
    pub retry_500: bool,
}

impl Side {
    /// How long the side may be silent before the other side is asked.
    pub fn timeout(&self) -> Time {
        self.timeout.unwrap_or(Time::seconds(10))
    }
}

impl Default for Side {
    fn default() -> Self {
        Side {
            name: None,
            url: None,
            connect_timeout: Time::seconds(1),
            timeout: None,
            retry_500: false,
        }
    }
}

#[cfg(test)]
mod tests;
