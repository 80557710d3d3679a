//! The bodies of answers.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use service_kit::OfUnknownLength;

/// The body of an answer. axum's own is always boxed, which costs an allocation and calls through pointers.
pub(crate) enum AnswerBody {
    /// All of it; empty once it is sent.
    Whole(Bytes),
    /// Any other.
    Boxed(Body),
}

impl From<Bytes> for AnswerBody {
    fn from(bytes: Bytes) -> Self {
        AnswerBody::Whole(bytes)
    }
}

impl From<OfUnknownLength> for AnswerBody {
    fn from(body: OfUnknownLength) -> Self {
        AnswerBody::Boxed(Body::new(body))
    }
}

impl http_body::Body for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match &mut *self {
            AnswerBody::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            AnswerBody::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            AnswerBody::Boxed(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            AnswerBody::Whole(bytes) => bytes.is_empty(),
            AnswerBody::Boxed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            AnswerBody::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            AnswerBody::Boxed(body) => body.size_hint(),
        }
    }
}
