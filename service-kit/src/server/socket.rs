//! A client's socket: TCP or Unix, with a write timeout. It closes with a reset if an answer broke off.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_io_timeout::TimeoutStream;
use tokio_util::either::Either;

use super::activity::Activity;
use super::client_end::ClientEnd;

/// A stream of either kind.
pub(super) type Stream = Either<TcpStream, UnixStream>;

/// A client's socket.
pub(super) struct Socket {
    stream: Pin<Box<TimeoutStream<Stream>>>,
    activity: Arc<Activity>,
}

impl Socket {
    /// `write_timeout` is how long the client may read nothing of its answer.
    pub(super) fn new(
        stream: Stream,
        write_timeout: Option<Duration>,
        activity: &Arc<Activity>,
    ) -> Self {
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(write_timeout);
        Socket { stream: Box::pin(stream), activity: Arc::clone(activity) }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // In HTTP/1.0 the end of the connection ends the answer, so without a reset a client could take a part for the
        // whole.
        if self.activity.is_cut.load(Ordering::Relaxed)
            && let Either::Left(stream) = self.stream.get_ref()
        {
            // If this fails, the connection is gone already.
            let _ = stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(self.stream.as_mut().poll_read(context, buffer))?;
        let is_end = buffer.filled().len() == before && buffer.remaining() > 0;
        if is_end && self.activity.end.as_ref().is_some_and(ClientEnd::tell) {
            // hyper reads again once the answer has ended.
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream.as_mut().poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream.as_mut().poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_shutdown(context)
    }
}
