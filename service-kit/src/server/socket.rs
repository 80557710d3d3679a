//! A client's socket: TCP or Unix, with a write timeout. It closes with a reset if an answer broke off. After an early
//! answer it first reads what the client still sends (RFC 9112, section 9.6): if the kernel closes a connection with
//! bytes unread, it resets it, and a client that is still sending, such as nginx, drops the answer.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
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

/// Most bytes that are read after an answer: more than any body that the services accept over HTTP/1.
const LINGER_BYTES: usize = 16 << 20;

/// A client's socket.
pub(super) struct Socket {
    stream: Pin<Box<TimeoutStream<Stream>>>,
    activity: Arc<Activity>,
    /// Bytes that may still be read after the last answer.
    to_discard: usize,
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
        let stream = Box::pin(stream);
        Socket { stream, activity: Arc::clone(activity), to_discard: LINGER_BYTES }
    }

    /// Reads what the client still sends, until it closes or has sent too much.
    fn poll_discard(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut bytes = [MaybeUninit::uninit(); 16 * 1024];
        while self.to_discard > 0 {
            let mut buffer = ReadBuf::uninit(&mut bytes);
            let read = ready!(self.stream.as_mut().poll_read(context, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                break;
            }
            self.to_discard = self.to_discard.saturating_sub(buffer.filled().len());
        }
        Poll::Ready(())
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
        self.activity.may_send.store(!is_end, Ordering::Relaxed);
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
        if !self.activity.is_lingering.load(Ordering::Relaxed) {
            ready!(self.stream.as_mut().poll_shutdown(context))?;
            let may_send = self.activity.may_send.load(Ordering::Relaxed);
            self.activity.is_lingering.store(may_send, Ordering::Relaxed);
            if !may_send {
                return Poll::Ready(Ok(()));
            }
        }
        self.poll_discard(context).map(Ok)
    }
}
