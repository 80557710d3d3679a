//! A sender's body.

use std::future::pending;
use std::sync::Arc;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_util::stream::unfold;
use futures_util::{Stream, StreamExt, TryStreamExt};
use http::Version;
use http_body::{Body as _, Frame};
use http_body_util::BodyExt;
use service_kit::HeldEnd;

use crate::metrics::PairMetrics;

/// Bytes read while the sender waits: a sender's end shows only after the bytes that it has sent.
const MOST_AHEAD: usize = 16 * 1024;

/// The sender has left, or its body is broken.
#[derive(Debug)]
pub(crate) struct Broken;

pub(crate) struct Source {
    body: Body,
    is_http2: bool,
    is_broken: bool,
    /// Bytes read while the sender waited.
    ahead: BytesMut,
    /// Over HTTP/1 only: tells that the client has half-closed.
    closed: Option<HeldEnd>,
}

impl Source {
    pub(crate) fn new(body: Body, version: Version, closed: Option<HeldEnd>) -> Self {
        let is_http2 = version == Version::HTTP_2;
        Source { body, is_http2, is_broken: false, ahead: BytesMut::new(), closed }
    }

    /// The body's length, if the head says it. Call this before taking any bytes.
    pub(crate) fn length(&self) -> Option<u64> {
        Some(self.body.size_hint().exact()? + self.ahead.len() as u64)
    }

    /// Reads the first bytes, up to [`MOST_AHEAD`] or the body's end. Cancel safe.
    pub(crate) async fn read_ahead(&mut self) -> Result<(), Broken> {
        while self.ahead.len() < MOST_AHEAD {
            let Some(bytes) = self.read().await? else { break };
            self.ahead.extend_from_slice(&bytes);
        }
        Ok(())
    }

    /// Whether unread bytes may hide that the client has left.
    pub(crate) fn may_hide(&self) -> bool {
        self.ahead.len() >= MOST_AHEAD && !self.body.is_end_stream()
    }

    /// Resolves once the client has half-closed its connection.
    pub(crate) async fn closed(&mut self) {
        came(self.closed.as_ref()).await;
    }

    /// Turns the body into a stream that counts its bytes in `metrics`.
    pub(crate) fn into_stream(
        self,
        metrics: Arc<PairMetrics>,
    ) -> impl Stream<Item = Result<Bytes, Broken>> + Send + 'static {
        let bytes = unfold(self, |mut source| async {
            let next = source.next().await.transpose()?;
            Some((next, source))
        });
        bytes.inspect_ok(move |bytes| metrics.received(bytes.len())).fuse()
    }

    async fn next(&mut self) -> Result<Option<Bytes>, Broken> {
        if self.ahead.is_empty() {
            return self.read().await;
        }
        Ok(Some(std::mem::take(&mut self.ahead).freeze()))
    }

    /// The next bytes, at least one; `None` at the end. Cancel safe.
    async fn read(&mut self) -> Result<Option<Bytes>, Broken> {
        while !self.is_broken {
            let frame = tokio::select! {
                biased;
                frame = self.body.frame() => frame.transpose(),
                // Everything sent before the half-close has been read.
                () = came(self.closed.as_ref()) => break,
            };
            match frame.map(|frame| frame.map(Frame::into_data)) {
                Ok(Some(Ok(bytes))) if !bytes.is_empty() => return Ok(Some(bytes)),
                // Trailers are not passed on.
                Ok(Some(_)) => {}
                // hyper reports a stream that its client resets with NO_ERROR as one that has ended.
                Ok(None) if !self.is_http2 || self.body.is_end_stream() => return Ok(None),
                Ok(None) | Err(_) => break,
            }
        }
        self.is_broken = true;
        Err(Broken)
    }
}

/// Resolves once an HTTP/1 client has half-closed its connection; never without `end`.
pub(crate) async fn came(end: Option<&HeldEnd>) {
    match end {
        Some(end) => end.came().await,
        None => pending().await,
    }
}
