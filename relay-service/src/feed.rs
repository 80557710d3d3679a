//! Carries a sender's bytes to one receiver.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::stream::BoxStream;
use tokio::sync::{mpsc, oneshot};

use crate::source::Broken;

/// An answer that ends too early.
#[derive(Debug, thiserror::Error)]
#[error("the stream was cut")]
pub(crate) struct Cut;

/// Frames that wait between a sender and one of several receivers. More would not be faster, and a stalled pair holds
/// them.
const FRAMES: usize = 1;

/// Tells how a receiver's answer ended; an error if the receiver has left.
type Ended = oneshot::Receiver<Result<(), Broken>>;

/// The body of a receiver's answer.
pub(crate) struct Fed {
    frames: Frames,
    /// Dropped if the receiver leaves.
    ended: Option<oneshot::Sender<Result<(), Broken>>>,
    /// Bytes left until the answer's Content-Length, if it has one. hyper polls no further after the last of them.
    rest: Option<u64>,
}

enum Frames {
    /// The sender's body itself.
    Direct(BoxStream<'static, Result<Bytes, Broken>>),
    /// From a [`Feed`]; `None` is the end.
    Fed(mpsc::Receiver<Option<Bytes>>),
}

impl Fed {
    /// For a sender's only receiver: reads `bytes` directly. `length` is their number, if known.
    pub(crate) fn directly(
        bytes: BoxStream<'static, Result<Bytes, Broken>>,
        length: Option<u64>,
    ) -> (Self, Ended) {
        Self::new(Frames::Direct(bytes), length)
    }

    fn new(frames: Frames, length: Option<u64>) -> (Self, Ended) {
        let (ended, is_ended) = oneshot::channel();
        let mut fed = Fed { frames, ended: Some(ended), rest: length };
        if length == Some(0) {
            fed.end(Ok(()));
        }
        (fed, is_ended)
    }

    fn end(&mut self, how: Result<(), Broken>) {
        if let Some(ended) = self.ended.take() {
            // Nobody listens if the sender has left.
            let _ = ended.send(how);
        }
    }

    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Cut>>> {
        let frame = match &mut self.frames {
            Frames::Direct(bytes) => ready!(bytes.as_mut().poll_next(context)).transpose(),
            // A closed channel means that the feed was dropped before its end.
            Frames::Fed(frames) => ready!(frames.poll_recv(context)).ok_or(Broken),
        };
        Poll::Ready(match frame {
            Ok(Some(bytes)) => {
                self.rest = self.rest.map(|rest| rest.saturating_sub(bytes.len() as u64));
                if self.rest == Some(0) {
                    self.end(Ok(()));
                }
                Some(Ok(bytes))
            }
            Ok(None) => {
                self.end(Ok(()));
                None
            }
            Err(Broken) if self.ended.is_none() => None,
            Err(Broken) => {
                self.end(Err(Broken));
                Some(Err(Cut))
            }
        })
    }
}

/// Feeds one of several receivers. Dropping it without [`Feed::end`] cuts the receiver's answer.
pub(crate) struct Feed {
    frames: mpsc::Sender<Option<Bytes>>,
    ended: Ended,
    /// The receiver has got as many bytes as its Content-Length says.
    is_done: bool,
}

impl Feed {
    /// Creates a feed for `length` bytes, if known, and the body that reads from it.
    pub(crate) fn new(length: Option<u64>) -> (Self, Fed) {
        let (sender, frames) = mpsc::channel(FRAMES);
        let (fed, ended) = Fed::new(Frames::Fed(frames), length);
        (Feed { frames: sender, ended, is_done: false }, fed)
    }

    /// Waits for room, then queues the bytes. Returns whether the receiver is still there.
    pub(crate) async fn send(&self, bytes: Bytes) -> bool {
        self.frames.send(Some(bytes)).await.is_ok()
    }

    /// Ends the receiver's answer. Returns whether the receiver has got all of it.
    pub(crate) async fn end(self) -> bool {
        // `ended` tells whether the receiver has left.
        let _ = self.frames.send(None).await;
        self.is_done || self.ended.await.is_ok()
    }

    /// Whether the receiver has left.
    pub(crate) fn has_left(&mut self, context: &mut Context<'_>) -> bool {
        if self.is_done {
            return false;
        }
        match Pin::new(&mut self.ended).poll(context) {
            Poll::Ready(ended) => {
                self.is_done = ended.is_ok();
                !self.is_done
            }
            Poll::Pending => false,
        }
    }
}
