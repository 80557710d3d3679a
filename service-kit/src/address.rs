//! Where a service listens: a port, or a Unix socket for clients on the same machine.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::str::FromStr;

/// Longest path of a socket. `sun_path` (unix(7)) has 108 bytes including the final NUL, and a new socket is bound
/// under a name that is one byte longer, then renamed.
const MAX_PATH_BYTES: usize = 106;

/// The path of a Unix socket, written `unix:/PATH`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SocketPath(String);

impl SocketPath {
    /// The path itself.
    pub fn path(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl FromStr for SocketPath {
    type Err = String;

    /// The error does not repeat `text`.
    fn from_str(text: &str) -> Result<Self, String> {
        let path = text.strip_prefix("unix:").filter(|path| path.starts_with('/'));
        let path = path.ok_or("must be unix:/PATH, from the root of the file system")?;
        if path.len() > MAX_PATH_BYTES {
            let length = path.len();
            return Err(format!(
                "the path has {length} bytes, but a Unix socket's path has at most {MAX_PATH_BYTES}"
            ));
        }
        if path.ends_with('/') {
            return Err("this is a folder; the socket needs a name in it".to_owned());
        }
        // These separate addresses in a setting, or have a meaning in nginx' configuration.
        let has_meaning =
            |c: char| c.is_whitespace() || c.is_control() || ",;:{}$#\"'\\".contains(c);
        match path.chars().find(|&c| has_meaning(c)) {
            Some(c) => Err(format!("the path of a socket must not contain {c:?}")),
            None => Ok(SocketPath(path.to_owned())),
        }
    }
}

impl fmt::Display for SocketPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unix:{}", self.0)
    }
}

/// An address that a service listens on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ListenAddr {
    /// `IP:PORT`; port 0 takes a free one.
    Tcp(SocketAddr),
    /// `unix:/PATH`.
    Unix(SocketPath),
}

impl From<SocketAddr> for ListenAddr {
    fn from(addr: SocketAddr) -> Self {
        ListenAddr::Tcp(addr)
    }
}

impl FromStr for ListenAddr {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with("unix:") {
            return text.parse().map(ListenAddr::Unix);
        }
        text.parse().map(ListenAddr::Tcp).map_err(|_| "must be IP:PORT or unix:/PATH".to_owned())
    }
}

impl fmt::Display for ListenAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenAddr::Tcp(addr) => addr.fmt(f),
            ListenAddr::Unix(path) => path.fmt(f),
        }
    }
}
