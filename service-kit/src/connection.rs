//! A connection that gives up on a client that takes too long.
//!
//! hyper has one timeout, for a request's head, and it runs while a kept-alive connection idles
//! too. Here it is three: idle between requests, from a head's first byte to its last, and from
//! there until the answer is written. A timer that is set and cleared for each request would be a
//! good part of the request's cost. So the connection only notes when something last happened, and
//! its one timer looks at that note when it fires, and sleeps on if it was early.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// How long a client may take.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// Between requests.
    pub idle: Duration,
    /// From the first byte of a request's head to its last.
    pub header: Duration,
    /// To take the answer.
    pub write: Duration,
}

/// What the connection waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    ForRequest,
    ForHead,
    ToWrite,
}

/// A stream with [`Timeouts`]; reading or writing past one of them is an error.
pub(crate) struct Timed<S> {
    stream: S,
    /// In a box of its own, for hyper wants streams that can be moved.
    timer: Pin<Box<Sleep>>,
    timeouts: Timeouts,
    waiting: Waiting,
    since: Instant,
}

impl<S> Timed<S> {
    pub(crate) fn new(stream: S, timeouts: Timeouts) -> Self {
        let since = Instant::now();
        // A new connection has not idled yet: it has come to ask something.
        let timer = Box::pin(sleep_until(since + timeouts.header));
        Timed { stream, timer, timeouts, waiting: Waiting::ForHead, since }
    }

    fn begin(&mut self, waiting: Waiting) {
        self.waiting = waiting;
        self.since = Instant::now();
    }

    /// Notes what is waited for from now on; an error if it took too long. The clock of a wait
    /// starts when it is first noted.
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
                // Early: something happened since the timer was set.
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
                // While an answer waits to be written, its clock is the one that runs.
                let waiting = self.waiting;
                self.wait(context, waiting)
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> Timed<S> {
    /// What a write came to: the connection idles after it, or waits to write on.
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
