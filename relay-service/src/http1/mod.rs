//! HTTP/1: hyper parses the heads of requests, and answers those that are malformed. All else goes over
//! the socket itself, so that bodies can be spliced and one who waits holds no buffers.

pub mod chunks;
mod exchange;
pub mod head;
pub(crate) mod pipe;
pub(crate) mod sink;
pub(crate) mod source;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use hyper_util::server::graceful::Watcher;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::handler::Relay;
use crate::http2;
use crate::peer::Peer;
use exchange::{Exchange, Next};
use head::{HeadEnd, MAX_HEAD_BYTES};

/// Read at once while a head comes.
const HEAD_BYTES: usize = 4 * 1024;
/// What an HTTP/2 connection begins with (RFC 9113, section 3.4); no HTTP/1 method does.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\n";

/// A client's connection. It speaks HTTP/1, or HTTP/2 if the client begins so.
pub(crate) struct Connection {
    pub(crate) peer: Peer,
    pub(crate) relay: Arc<Relay>,
    pub(crate) header_timeout: Duration,
    /// Turns true when the connection has to end after the request that it serves.
    pub(crate) stop: watch::Receiver<bool>,
}

impl Connection {
    /// Serves requests until the connection ends. A client that disconnects or sends invalid HTTP is not the
    /// service's error.
    pub(crate) async fn serve(mut self, http2: Watcher) {
        let mut ahead = BytesMut::new();
        loop {
            let Some(end) = self.next_head(&mut ahead).await else { return };
            if ahead.starts_with(HTTP2_PREFACE) {
                if let Err(error) = http2::serve(self.peer, ahead, self.relay, http2).await {
                    tracing::debug!(%error, "connection ended");
                }
                return;
            }
            match self.answer(end, ahead).await {
                Next::Request(rest) if !*self.stop.borrow() => ahead = rest,
                Next::Request(_) | Next::Close => return self.peer.close().await,
                Next::Cut => return self.peer.cut(),
            }
        }
    }

    async fn answer(&self, end: HeadEnd, mut ahead: BytesMut) -> Next {
        let (head, is_ambiguous, is_whole) = match end {
            HeadEnd::At(end, is_ambiguous) => (ahead.split_to(end), is_ambiguous, true),
            HeadEnd::Never | HeadEnd::NotYet => (std::mem::take(&mut ahead), false, false),
        };
        let parsed = timeout(self.header_timeout, head::parse(&self.peer, head, is_whole)).await;
        let Ok(Some((request, framing))) = parsed else { return Next::Close };
        if !is_whole {
            // Cannot be, as hyper has the same parser; the body's first bytes would be lost.
            return Next::Cut;
        }
        let exchange = Exchange::new(&self.relay, &self.peer, &request, is_ambiguous);
        // Boxed, or a connection that waits for a head would have room for it.
        Box::pin(exchange.run(request, framing, ahead)).await
    }

    /// Reads until `ahead` begins with a head. `None` if the client leaves, takes too long, or has not begun
    /// one when the connection has to end.
    async fn next_head(&mut self, ahead: &mut BytesMut) -> Option<HeadEnd> {
        let Connection { peer, stop, header_timeout, .. } = self;
        let read = async {
            let mut seen = 0;
            loop {
                // RFC 9112, section 2.2: empty lines before a request are ignored.
                let blank = ahead.iter().take_while(|byte| b"\r\n".contains(byte)).count();
                let _ = ahead.split_to(blank);
                seen = if seen == 0 && !ahead.is_empty() || head::has_empty_line(ahead, seen) {
                    match head::head_end(ahead) {
                        HeadEnd::NotYet => ahead.len(),
                        end => return Some(end),
                    }
                } else if ahead.len() >= MAX_HEAD_BYTES {
                    return Some(HeadEnd::Never);
                } else {
                    ahead.len()
                };
                let is_idle = ahead.is_empty();
                let count = tokio::select! {
                    biased;
                    count = read_more(peer, ahead) => count?,
                    _ = stop.wait_for(|&stops| stops), if is_idle => 0,
                };
                if count == 0 {
                    // A client that has sent nonsense and waits for the answer hears of it.
                    return Some(head::head_end(ahead)).filter(|end| *end == HeadEnd::Never);
                }
            }
        };
        timeout(*header_timeout, read).await.ok()?
    }
}

/// Waits for bytes; holds no buffer meanwhile.
async fn read_more(peer: &Peer, ahead: &mut BytesMut) -> Option<usize> {
    loop {
        peer.stream().readable().await.ok()?;
        ahead.reserve(HEAD_BYTES);
        match peer.try_read(ahead, HEAD_BYTES) {
            Ok(count) => return Some(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if ahead.is_empty() {
                    *ahead = BytesMut::new();
                }
            }
            Err(_) => return None,
        }
    }
}
