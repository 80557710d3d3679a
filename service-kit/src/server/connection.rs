//! A connection that is closed when its client takes too long.
//!
//! hyper has one timeout, for a request's head, and it also runs while a kept-alive connection is
//! idle. This connection has three: idle between requests, from the first byte of a head to its last,
//! and a stall while the client reads the answer. Setting and clearing a timer for each request would
//! be a large part of the request's cost. So the connection only records when its last event was. Its
//! one timer checks that record when it fires, and sleeps on if it fired early.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// Time limits on clients.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// Longest idle time between requests.
    pub idle: Duration,
    /// Longest time from the first byte of a request's head to its last.
    pub header: Duration,
    /// Longest stall while the client reads an answer.
    pub write: Duration,
}

/// The event that the connection waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    ForRequest,
    ForHead,
    ToWrite,
}

/// A stream with [`Timeouts`]; a read or write that exceeds one of them is an error.
pub(crate) struct Timed<S> {
    stream: S,
    /// Boxed, because `Sleep` must stay pinned while hyper needs a stream that can be moved.
    timer: Pin<Box<Sleep>>,
    timeouts: Timeouts,
    waiting: Waiting,
    since: Instant,
}

impl<S> Timed<S> {
    pub(crate) fn new(stream: S, timeouts: Timeouts) -> Self {
        let since = Instant::now();
        // A client connects to send a request, so the first wait is not an idle one.
        let timer = Box::pin(sleep_until(since + timeouts.header));
        Timed { stream, timer, timeouts, waiting: Waiting::ForHead, since }
    }

    fn begin(&mut self, waiting: Waiting) {
        self.waiting = waiting;
        self.since = Instant::now();
    }

    /// Waits for an event; an error if it takes too long. The time counts from the first call for
    /// the same event.
    fn wait(&mut self, context: &mut Context<'_>, waiting: Waiting) -> Poll<io::Result<()>> {
        if self.waiting != waiting {
            self.begin(waiting);
        }
        loop {
            let limit = match waiting {
                Waiting::ForRequest => self.timeouts.idle,
                Waiting::ForHead => self.timeouts.header,
                Waiting::ToWrite => self.timeouts.write,
            };
            let deadline = self.since + limit;
            if self.timer.deadline() > deadline {
                self.timer.as_mut().reset(deadline);
            }
            match self.timer.as_mut().poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(()) if Instant::now() >= deadline => {
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
                // Early: there was an event after the timer was set.
                Poll::Ready(()) => self.timer.as_mut().reset(deadline),
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Timed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        match Pin::new(&mut self.stream).poll_read(context, buffer) {
            Poll::Ready(result) => {
                if self.waiting != Waiting::ForHead && buffer.filled().len() > before {
                    self.begin(Waiting::ForHead);
                }
                Poll::Ready(result)
            }
            Poll::Pending => {
                // hyper also reads while an answer waits to be written; the write timeout applies then.
                let waiting = self.waiting;
                self.wait(context, waiting)
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> Timed<S> {
    /// Updates the wait after a write: for the next request if it succeeded, else to write on.
    fn written<T>(
        &mut self,
        context: &mut Context<'_>,
        result: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        match result {
            Poll::Ready(result) => {
                self.begin(Waiting::ForRequest);
                Poll::Ready(result)
            }
            Poll::Pending => match self.wait(context, Waiting::ToWrite) {
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                _ => Poll::Pending,
            },
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Timed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.written(context, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
