//! A request's body, which notes whether its request was answered without it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};

use axum::body::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::activity::Activity;

/// A request's body. If it is dropped before its end, an HTTP/1 connection cannot be used again.
pub(super) struct RequestBody {
    body: Incoming,
    /// Until the end has been read.
    unread: Option<Arc<Activity>>,
}

impl RequestBody {
    pub(super) fn new(body: Incoming, activity: &Arc<Activity>) -> Self {
        let unread = (!body.is_end_stream()).then(|| Arc::clone(activity));
        activity.may_send.store(unread.is_some(), Ordering::Relaxed);
        activity.is_unread.store(false, Ordering::Relaxed);
        RequestBody { body, unread }
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if let Some(activity) = &self.unread {
            activity.is_unread.store(true, Ordering::Relaxed);
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() || self.body.is_end_stream() {
            self.unread = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
