//! Bodies of answers: a text, the sender's lines, or the bytes for a receiver.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::{mpsc, oneshot};

use crate::lines::LinesBody;

/// Pieces that wait between a sender and one receiver. More are no faster, and a pair that stands still
/// holds them.
const PIECES: usize = 1;

/// The body of any answer.
pub(crate) enum Body {
    /// At once.
    Full(Option<Bytes>),
    /// The sender's lines, until the channel closes.
    Lines(LinesBody),
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

/// A body for a receiver over HTTP/2, of `length` bytes if that is known.
pub(crate) fn feed(length: Option<u64>) -> (Feed, Ended, Body) {
    let (feed, pieces) = mpsc::channel(PIECES);
    let (ended, is_ended) = oneshot::channel();
    let mut pieces = Pieces { pieces, ended: Some(ended), rest: length };
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
        let piece = ready!(self.pieces.poll_recv(context));
        Poll::Ready(match piece {
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
            None => Some(Err(Cut)),
        })
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
            Body::Lines(lines) => lines.poll(context).map(|line| line.map(Ok)),
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
