//! A connection that is closed when its client takes too long.
//!
//! hyper has one timeout, for a request's head, and it also runs while a kept-alive connection is
//! idle. This connection has three: idle between requests, from the first byte of a head to its last,
//! and from the first stall while the client reads an answer to its last byte. Setting and clearing a
//! timer for each request would be a large part of the request's cost. So the connection only records
//! when its last event was. Its one timer checks that record when it fires, and sleeps on if it fired
//! early.

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
    /// Longest time in which the client may read an answer, from when it first falls behind. Answers to
    /// pipelined requests count as one while they are sent together. It ends a client that reads a few
    /// bytes now and then, too.
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
    /// Something was written and not flushed. hyper flushes when it has written all it had.
    unflushed: bool,
}

impl<S> Timed<S> {
    pub(crate) fn new(stream: S, timeouts: Timeouts) -> Self {
        let since = Instant::now();
        // A client connects to send a request, so the first wait is not an idle one.
        let timer = Box::pin(sleep_until(since + timeouts.header));
        Timed { stream, timer, timeouts, waiting: Waiting::ForHead, since, unflushed: false }
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
                // While an answer waits to be written, its time runs on whatever the client sends.
                if self.waiting == Waiting::ForRequest && buffer.filled().len() > before {
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
    /// Notes a write, or waits until the client reads. The time of an answer ends with its last byte.
    fn written(
        &mut self,
        context: &mut Context<'_>,
        result: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match result {
            Poll::Ready(result) => {
                self.unflushed = true;
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
        if std::mem::take(&mut self.unflushed) {
            self.begin(Waiting::ForRequest);
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::sleep;

    use super::*;

    /// Reads `at_once` bytes each half second of an answer of 1000 bytes; the limit is a second.
    async fn answer_read_in_pieces(at_once: usize) -> io::Result<()> {
        let (server, mut client) = duplex(100);
        let limit = Duration::from_secs(1);
        let timeouts = Timeouts { idle: limit, header: limit, write: limit };
        let mut server = Timed::new(server, timeouts);
        let reads = tokio::spawn(async move {
            let mut piece = vec![0; at_once];
            while client.read_exact(&mut piece).await.is_ok() {
                sleep(Duration::from_millis(500)).await;
            }
        });
        server.write_all(&[0; 1000]).await?;
        server.flush().await?;
        drop(server);
        let _ = reads.await;
        Ok(())
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_a_little_now_and_then_runs_out_of_time() {
        assert!(answer_read_in_pieces(500).await.is_ok());
        let error = answer_read_in_pieces(50).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
