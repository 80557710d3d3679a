//! The address of a side: `http://host:port`.

use std::fmt;
use std::str::FromStr;

use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BaseUrl(Authority);

impl BaseUrl {
    /// The URL of `target` on this side.
    pub(crate) fn join(&self, target: PathAndQuery) -> Result<Uri, http::Error> {
        let uri = Uri::builder().scheme(Scheme::HTTP).authority(self.0.clone());
        uri.path_and_query(target).build()
    }
}

impl FromStr for BaseUrl {
    type Err = &'static str;

    fn from_str(url: &str) -> Result<Self, Self::Err> {
        const WANTED: &str = "must be http://HOST:PORT";
        let parts = url.parse::<Uri>().map_err(|_| WANTED)?.into_parts();
        let bare = parts.path_and_query.is_none_or(|path| path == "/");
        match parts.authority {
            Some(at) if bare && parts.scheme == Some(Scheme::HTTP) && is_host_and_port(&at) => {
                Ok(BaseUrl(at))
            }
            _ => Err(WANTED),
        }
    }
}

/// Whether `authority` is a host with no user, and with a valid port or none.
fn is_host_and_port(authority: &Authority) -> bool {
    let (host, all) = (authority.host(), authority.as_str());
    !host.is_empty()
        && all.strip_prefix(host).is_some_and(|rest| match rest.strip_prefix(':') {
            Some(port) => port.parse::<u16>().is_ok(),
            None => rest.is_empty(),
        })
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_is_scheme_host_and_port_alone() {
        for url in ["http://127.0.0.1:3000", "http://qr-service", "http://[::1]:80/"] {
            assert_eq!(url.parse::<BaseUrl>().unwrap().to_string(), url.trim_end_matches('/'));
        }
        for url in [
            "",
            "127.0.0.1:3000",
            "https://x:1",
            "http://",
            "http://x/qrcode",
            "http://x/?a",
            "http://me@x",
            "http://x:99999",
        ] {
            assert!(url.parse::<BaseUrl>().is_err(), "{url}");
        }
    }
}
