//! Answer bodies: a text, a sender's messages, or the bytes for a receiver.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body::{Frame, SizeHint};

use crate::feed::{Cut, Fed};
use crate::messages::Written;
use service_kit::HeldEnd;

/// The body of any answer.
pub(crate) enum Body {
    /// A complete text.
    Full(Option<Bytes>),
    /// A sender's messages.
    Sender(Sending),
    /// The sender's bytes, for a receiver.
    Receiver(Fed),
    /// Fails at once: the answer cannot be complete.
    Cut,
}

/// Sends the sender's bytes whenever hyper polls for its messages. hyper drops it when the sender leaves, which ends
/// the transfer.
pub(crate) struct Sending {
    /// The transfer, which writes the messages; `None` once it has ended.
    run: Option<BoxFuture<'static, Result<(), Cut>>>,
    messages: Written,
    /// A client that half-closes after its body still gets the last messages.
    _closed: Option<HeldEnd>,
}

impl Sending {
    pub(crate) fn new(
        run: impl Future<Output = Result<(), Cut>> + Send + 'static,
        messages: Written,
        closed: Option<HeldEnd>,
    ) -> Self {
        Sending { run: Some(Box::pin(run)), messages, _closed: closed }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Cut>>> {
        if let Some(run) = &mut self.run
            && let Poll::Ready(ended) = run.as_mut().poll(context)
        {
            // Dropping it drops the last writer, which ends the messages.
            self.run = None;
            if let Err(cut) = ended {
                return Poll::Ready(Some(Err(cut)));
            }
        }
        self.messages.poll(context).map(|bytes| bytes.map(Ok))
    }
}

impl Body {
    pub(crate) fn full(text: impl Into<Bytes>) -> Self {
        Body::Full(Some(text.into()))
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
            Body::Sender(sending) => sending.poll(context),
            Body::Receiver(fed) => fed.poll(context),
            Body::Cut => Poll::Ready(Some(Err(Cut))),
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
