//! Bodies of answers: a text, the sender's lines, or the bytes for a receiver.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::{mpsc, oneshot};

use crate::peer::Peer;

/// Pieces that wait between a sender and one receiver. More are no faster, and a pair that stands still
/// holds them. A piece is what hyper read at once: 64 KiB at
/// most over HTTP/1, a frame over HTTP/2.
const PIECES: usize = 1;

/// The body of any answer.
pub(crate) enum Body {
    /// At once.
    Full(Option<Bytes>),
    /// The sender's lines, until the channel closes.
    Lines(mpsc::Receiver<Bytes>),
    /// What a receiver gets.
    Pieces(Pieces),
}

impl Body {
    pub(crate) fn full(text: impl Into<Bytes>) -> Self {
        Body::Full(Some(text.into()))
    }
}

/// An answer that ends before its end.
#[derive(Debug)]
pub(crate) struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the stream was cut")
    }
}

impl std::error::Error for Cut {}

enum Piece {
    Bytes(Bytes),
    End,
}

/// The receiving end of a [`Feed`].
pub(crate) struct Pieces {
    pieces: mpsc::Receiver<Piece>,
    /// Says how it went; dropped if the receiver leaves.
    ended: Option<oneshot::Sender<()>>,
    left: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    peer: Option<Peer>,
    /// Bytes up to the answer's Content-Length. hyper asks for no more after the last of them.
    rest: Option<u64>,
}

/// Feeds one receiver. Dropped without [`Feed::end`], it cuts the receiver's answer.
pub(crate) struct Feed(mpsc::Sender<Piece>);

impl Feed {
    /// Waits for room and takes the bytes. Returns whether the receiver is still there.
    pub(crate) async fn send(&self, bytes: Bytes) -> bool {
        self.0.send(Piece::Bytes(bytes)).await.is_ok()
    }

    /// Ends the receiver's answer.
    pub(crate) async fn end(self) {
        // A receiver that has left shows by its `Ended`.
        let _ = self.0.send(Piece::End).await;
    }
}

/// Resolves with `Ok` when a receiver's answer has been taken to its end, with `Err` when the
/// receiver has left.
pub(crate) type Ended = oneshot::Receiver<()>;

/// A body for a receiver, of `length` bytes if that is known; `peer` is its socket over HTTP/1.
pub(crate) fn feed(length: Option<u64>, peer: Option<Peer>) -> (Feed, Ended, Body) {
    let (feed, pieces) = mpsc::channel(PIECES);
    let (ended, is_ended) = oneshot::channel();
    let left = peer.clone().map(|peer| {
        let left: Pin<Box<dyn Future<Output = ()> + Send>> =
            Box::pin(async move { peer.left().await });
        left
    });
    let mut pieces = Pieces { pieces, ended: Some(ended), left, peer, rest: length };
    if length == Some(0) {
        pieces.end();
    }
    (Feed(feed), is_ended, Body::Pieces(pieces))
}

impl Pieces {
    /// The receiver has taken all.
    fn end(&mut self) {
        if let Some(ended) = self.ended.take() {
            // Nobody listens if the sender's task has been cut.
            let _ = ended.send(());
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Cut>>> {
        if let Poll::Ready(piece) = self.pieces.poll_recv(context) {
            return Poll::Ready(match piece {
                Some(Piece::Bytes(bytes)) => {
                    self.rest = self.rest.map(|rest| rest.saturating_sub(bytes.len() as u64));
                    if self.rest == Some(0) {
                        self.end();
                    }
                    Some(Ok(bytes))
                }
                Some(Piece::End) => {
                    self.end();
                    None
                }
                None if self.ended.is_none() => None,
                None => {
                    if let Some(peer) = &self.peer {
                        peer.cut();
                    }
                    Some(Err(Cut))
                }
            });
        }
        let has_left =
            self.left.as_mut().is_some_and(|left| left.as_mut().poll(context).is_ready());
        if has_left { Poll::Ready(Some(Err(Cut))) } else { Poll::Pending }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let next = match &mut *self {
            Body::Full(text) => Poll::Ready(text.take().map(Ok)),
            Body::Lines(lines) => lines.poll_recv(context).map(|line| line.map(Ok)),
            Body::Pieces(pieces) => pieces.poll(context),
        };
        next.map(|next| next.map(|bytes| bytes.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Body::Full(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Full(text) => SizeHint::with_exact(text.as_ref().map_or(0, Bytes::len) as u64),
            _ => SizeHint::default(),
        }
    }
}
