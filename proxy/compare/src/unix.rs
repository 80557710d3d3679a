//! Connects to sides over Unix sockets.
//!
//! A URL has no place for a socket's path, so the path in hexadecimal stands where the host would.

use std::fmt::Write;
use std::io;
use std::pin::Pin;

use http::Uri;
use hyper_util::rt::TokioIo;
use service_kit::SocketPath;
use tokio::net::UnixStream;
use tower::util::ServiceFn;

type Connecting = Pin<Box<dyn Future<Output = io::Result<TokioIo<UnixStream>>> + Send>>;

/// What hyper-util's client connects by.
pub(crate) type UnixConnector = ServiceFn<fn(Uri) -> Connecting>;

pub(crate) fn connector() -> UnixConnector {
    tower::service_fn(connect)
}

fn connect(uri: Uri) -> Connecting {
    Box::pin(async move {
        let path = uri.host().and_then(path).ok_or(io::ErrorKind::InvalidInput)?;
        UnixStream::connect(path).await.map(TokioIo::new)
    })
}

/// What stands for a socket in a URL.
pub(crate) fn authority(path: &SocketPath) -> String {
    let mut hex = String::new();
    for byte in path.path().to_string_lossy().bytes() {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// The path of a socket from what stands for it.
fn path(authority: &str) -> Option<String> {
    let pairs = authority.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    let bytes = pairs.map(|pair| u8::from_str_radix(pair?, 16).ok());
    String::from_utf8(bytes.collect::<Option<_>>()?).ok()
}

#[cfg(test)]
mod tests;
