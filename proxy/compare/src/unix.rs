//! Connects to sides over Unix sockets.
//!
//! A URL has no place for a socket's path, so the path in hexadecimal takes the place of the host.

use std::io;
use std::pin::Pin;

use http::Uri;
use hyper_util::rt::TokioIo;
use service_kit::SocketPath;
use tokio::net::UnixStream;
use tower::util::ServiceFn;

type Connecting = Pin<Box<dyn Future<Output = io::Result<TokioIo<UnixStream>>> + Send>>;

/// The connector for hyper-util's client.
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

/// The host that stands for a socket's path in a URL.
pub(crate) fn authority(path: &SocketPath) -> String {
    hex::encode(path.path().to_string_lossy().as_bytes())
}

/// The socket's path, decoded from the host of a URL.
fn path(authority: &str) -> Option<String> {
    String::from_utf8(hex::decode(authority).ok()?).ok()
}

#[cfg(test)]
mod tests;
