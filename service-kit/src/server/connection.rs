//! A connection that is closed when its client takes too long.
//!
//! hyper has one timeout, for a request's head, and it also runs while a kept-alive connection is
//! idle. This connection has three: idle between requests, from the first byte of a head to its last,
//! and from the first stall while the client reads an answer to its last byte. Setting and clearing a
//! timer for each request would be a large part of the request's cost. So the connection only records
//! when its last event was. Its one timer checks that record when it fires, and sleeps on if it fired
//! early.
//!
//! It also ends if its place is wanted: see `places.rs`. And it can wait for a head without hyper: see
//! `connection/lean.rs`.

mod lean;

use std::future::Future;
use std::io;
use std::mem::take;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::unconstrained;
use tokio::time::{Instant, Sleep, sleep_until};

use super::metrics::Phase;
use super::places::{Doing, Slot};

/// Time limits on clients.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// Longest idle time between requests.
    pub idle: Duration,
    /// Longest time from the first byte of a request's head to its last.
    pub header: Duration,
    /// Longest time in which the client may read an answer, from when it first falls behind. Answers to
    /// pipelined requests count as one while they are sent together. It ends a client that reads a
    /// few bytes now and then, too.
    pub write: Duration,
}

/// hyper is dropped if the next head is not there after so long. Making it again takes a microsecond.
const LEAN_AFTER: Duration = Duration::from_millis(250);

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
    /// The timer wakes the connection's task, which is the same for all its life.
    is_armed: bool,
    timeouts: Timeouts,
    waiting: Waiting,
    since: Instant,
    /// Something was written and not flushed. hyper flushes when it has written all it had.
    unflushed: bool,
    /// The client has read when an answer had to wait.
    reads: bool,
    /// What [`Self::next_head`] has read and hyper has not.
    head: Vec<u8>,
    /// What the client has not taken of an answer of the [`Shortcut`].
    unsent: Vec<u8>,
    /// Waits without hyper.
    is_lean: bool,
    slot: Arc<Slot>,
}

impl<S> Timed<S> {
    pub(super) fn new(stream: S, timeouts: Timeouts, slot: Arc<Slot>) -> Self {
        let since = Instant::now();
        // A client connects to send a request, so the first wait is not an idle one.
        let timer = Box::pin(sleep_until(since + timeouts.header));
        Timed {
            stream,
            timer,
            is_armed: false,
            timeouts,
            waiting: Waiting::ForHead,
            since,
            unflushed: false,
            reads: false,
            head: Vec::new(),
            unsent: Vec::new(),
            is_lean: true,
            slot,
        }
    }

    fn begin(&mut self, waiting: Waiting) {
        self.begin_at(waiting, Instant::now());
    }

    fn begin_at(&mut self, waiting: Waiting, since: Instant) {
        self.waiting = waiting;
        self.since = since;
        match waiting {
            Waiting::ForRequest => self.slot.set(Doing::Idle, self.since),
            Waiting::ForHead => self.slot.set(Doing::Head, self.since),
            Waiting::ToWrite => self.slot.answer(self.since, self.reads),
        }
    }

    /// Waits for an event; an error if it takes too long. The time counts from the first call for
    /// the same event.
    fn wait(&mut self, context: &mut Context<'_>, waiting: Waiting) -> Poll<io::Result<()>> {
        if self.waiting != waiting {
            self.begin(waiting);
        }
        let (limit, phase) = match waiting {
            Waiting::ForRequest => (self.timeouts.idle, Phase::Idle),
            Waiting::ForHead => (self.timeouts.header, Phase::Head),
            Waiting::ToWrite => (self.timeouts.write, Phase::Answer),
        };
        if self.slot.must_end(context) {
            self.slot.count_shed(phase);
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        let deadline = self.since + limit;
        let lean = self.since + LEAN_AFTER;
        let mut next = if self.is_lean { deadline } else { deadline.min(lean) };
        if self.is_armed && self.timer.deadline() <= next && !self.timer.is_elapsed() {
            return Poll::Pending;
        }
        loop {
            if self.timer.deadline() > next {
                self.timer.as_mut().reset(next);
            }
            // Without tokio's budget: at its end, the timer would not be armed and look as if it were.
            let mut timer = unconstrained(self.timer.as_mut());
            self.is_armed = Pin::new(&mut timer).poll(context).is_pending();
            if self.is_armed {
                return Poll::Pending;
            }
            let now = Instant::now();
            if now >= deadline {
                self.slot.count_timeout(phase);
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            if now >= next {
                self.slot.become_lean();
                next = deadline;
            }
            // Else early: there was an event after the timer was set.
            self.timer.as_mut().reset(next);
        }
    }
}

impl<S: AsyncRead + Unpin> Timed<S> {
    /// Reads from the client for hyper.
    fn receive(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        match Pin::new(&mut self.stream).poll_read(context, buffer) {
            Poll::Ready(result) => {
                if buffer.filled().len() > before {
                    self.begin_head();
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

    /// Notes the first byte of a head. While an answer waits to be written, its time runs on whatever the client
    /// sends.
    fn begin_head(&mut self) {
        if self.waiting == Waiting::ForRequest {
            self.begin(Waiting::ForHead);
        }
    }

    /// Whether nothing has come from the client yet.
    pub(super) fn is_new(&self) -> bool {
        self.waiting == Waiting::ForHead && self.head.is_empty()
    }

    /// Whether a part of the next head has come.
    pub(super) fn has_begun_head(&self) -> bool {
        !self.head.is_empty()
    }

    /// Takes back what hyper has read and not used.
    pub(super) fn take_back(&mut self, bytes: &[u8]) {
        self.head.splice(..0, bytes.iter().copied());
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Timed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.head.is_empty() {
            return self.receive(context, buffer);
        }
        let mut head = take(&mut self.head);
        self.head = head.split_off(head.len().min(buffer.remaining()));
        buffer.put_slice(&head);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> Timed<S> {
    /// Notes progress after a write, or waits until the client reads.
    fn written(
        &mut self,
        context: &mut Context<'_>,
        result: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match result {
            Poll::Ready(result) => {
                self.unflushed = true;
                if self.waiting == Waiting::ToWrite {
                    // The client reads; its time runs on.
                    self.reads = true;
                    self.slot.answer(Instant::now(), true);
                }
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
        if take(&mut self.unflushed) {
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

    use super::super::metrics::Connections;
    use super::super::places::Places;
    use super::*;

    pub(super) fn timed<S>(stream: S) -> Timed<S> {
        let limit = Duration::from_secs(1);
        let timeouts = Timeouts { idle: limit, header: limit, write: limit };
        let place = Places::new(1, 1, Connections::default()).take(None).unwrap();
        Timed::new(stream, timeouts, place.slot())
    }

    /// Reads `at_once` bytes each half second of an answer of 1000 bytes; the limit is a second.
    async fn answer_read_in_pieces(at_once: usize) -> io::Result<()> {
        let (server, mut client) = duplex(100);
        let mut server = timed(server);
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
