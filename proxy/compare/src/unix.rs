//! Connects to sides over Unix sockets.
//!
//! A URL has no place for a socket's path, so the path in hexadecimal stands where the host would.

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
    hex::encode(path.path().to_string_lossy().as_bytes())
}

/// The path of a socket from what stands for it.
fn path(authority: &str) -> Option<String> {
    String::from_utf8(hex::decode(authority).ok()?).ok()
}

#[cfg(test)]
mod tests;
