//! A connection that waits for a request without hyper, whose buffers take twenty times the memory that the rest of a
//! connection needs, and that answers by a [`Shortcut`] what needs no hyper.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::mem::{MaybeUninit, take};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use super::super::shortcut::Shortcut;
use super::{Timed, Waiting};

/// Bytes that are read at once while hyper is not there: most heads, and the longest of a text that is legal.
const READ: usize = 2048;

thread_local! {
    /// An answer of a [`Shortcut`] is written here, so a connection needs no room for it.
    static ANSWER: RefCell<Vec<u8>> = RefCell::new(Vec::with_capacity(4096));
}

impl<S: AsyncRead + AsyncWrite + Unpin> Timed<S> {
    /// Waits until hyper has something to do: for a whole head, for `most` bytes, for bytes that are not
    /// HTTP, or for the client's end. hyper gets what was read, by [`AsyncRead`]. Requests that `shortcut`
    /// answers are over before.
    ///
    /// # Errors
    /// If the connection fails, takes too long or has to end.
    pub(in crate::server) async fn next_head(
        &mut self,
        most: usize,
        shortcut: Option<Shortcut>,
    ) -> io::Result<()> {
        self.is_lean = true;
        let mut seen = 0;
        poll_fn(|context| {
            loop {
                ready!(self.poll_sent(context))?;
                // RFC 9112 section 2.2: empty lines before a request are ignored.
                let blank = self.head.iter().take_while(|byte| b"\r\n".contains(byte)).count();
                self.head.drain(..blank);
                let is_whole = ends_head(self.head.get(seen..).unwrap_or_default());
                let is_long = self.head.len() >= most;
                if let Some(shortcut) = shortcut.filter(|_| is_whole && !is_long) {
                    let head = take(&mut self.head);
                    let answered = self.answer_all(context, shortcut, &head)?;
                    self.head = head;
                    self.head.drain(..answered);
                    if answered > 0 {
                        seen = 0;
                        continue;
                    }
                }
                let is_for_hyper = is_whole
                    || is_long
                    || self.head.first().is_some_and(|byte| !byte.is_ascii_uppercase());
                if is_for_hyper {
                    self.end_answers();
                    return Poll::Ready(io::Result::Ok(()));
                }
                seen = self.head.len().saturating_sub(2);
                let mut bytes = [MaybeUninit::uninit(); READ];
                let mut buffer = ReadBuf::uninit(&mut bytes);
                let polled = Pin::new(&mut self.stream).poll_read(context, &mut buffer);
                if polled.is_pending() {
                    self.end_answers();
                    ready!(self.wait(context, self.waiting))?;
                }
                ready!(polled)?;
                let mut read = buffer.filled();
                if read.is_empty() {
                    return Poll::Ready(Ok(()));
                }
                if let Some(shortcut) = shortcut
                    && self.head.is_empty()
                {
                    // Nearly always a whole head that need not be copied, nor searched for its end.
                    read = &read[self.answer_all(context, shortcut, read)?..];
                }
                if !read.is_empty() {
                    self.begin_head();
                    self.head.extend_from_slice(read);
                }
            }
        })
        .await?;
        self.is_lean = false;
        Ok(())
    }

    /// Answers the requests at the beginning of `bytes` that `shortcut` answers, until an answer waits for the
    /// client. Returns their length.
    fn answer_all(
        &mut self,
        context: &mut Context<'_>,
        shortcut: Shortcut,
        bytes: &[u8],
    ) -> io::Result<usize> {
        ANSWER.with_borrow_mut(|answer| {
            let mut rest = bytes;
            while self.unsent.is_empty() {
                // While an answer waits for the client, so do all that follow.
                let is_stalled = self.waiting == Waiting::ToWrite;
                let begin = || {
                    if !is_stalled {
                        self.slot.begin_request();
                    }
                    Instant::now().into_std()
                };
                let Some((length, answered)) = shortcut.answer(rest, answer, begin) else { break };
                rest = &rest[length..];
                if !is_stalled {
                    // The next wait begins here: one reading of the clock less.
                    self.since = Instant::from_std(answered);
                }
                let sent = match Pin::new(&mut *self).poll_write(context, answer) {
                    Poll::Ready(sent) => sent?,
                    Poll::Pending => 0,
                };
                self.unsent.extend_from_slice(&answer[sent..]);
            }
            Ok(bytes.len() - rest.len())
        })
    }

    /// Notes that the requests which have come are answered: those that came together count as one.
    fn end_answers(&mut self) {
        if !take(&mut self.unflushed) {
            return;
        }
        // While it did not wait to write, `since` is when the last answer was made.
        let since = if self.waiting == Waiting::ToWrite { Instant::now() } else { self.since };
        if self.has_begun_head() {
            self.begin_at(Waiting::ForHead, since);
        } else {
            // Its room may be that of a long head.
            self.head = Vec::new();
            self.begin_at(Waiting::ForRequest, since);
        }
    }

    /// Waits until the client has taken what is left of an answer of the [`Shortcut`].
    ///
    /// # Errors
    /// If the connection fails, takes too long or has to end.
    pub(in crate::server) fn poll_sent(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while !self.unsent.is_empty() {
            let mut unsent = take(&mut self.unsent);
            let polled = Pin::new(&mut *self).poll_write(context, &unsent);
            if let Poll::Ready(Ok(sent)) = polled {
                unsent.drain(..sent);
            }
            if !unsent.is_empty() {
                self.unsent = unsent;
            }
            if ready!(polled)? == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// Whether there is an empty line. Like hyper, it takes a single line feed for the end of a line.
fn ends_head(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|two| two == b"\n\n") || bytes.windows(3).any(|three| three == b"\n\r\n")
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::super::tests::timed;

    #[tokio::test(start_paused = true)]
    async fn a_head_is_whole_at_its_empty_line_however_it_comes() {
        for (bytes, is_whole) in [
            ("GET / HTTP/1.1\r\nhost: x\r\n\r\n", true),
            ("\r\n\r\nGET / HTTP/1.1\r\nhost: x\r\n\r\nGET /", true),
            ("GET / HTTP/1.1\nhost: x\n\n", true),
            ("\u{16}\u{3}\u{1}", true),
            (&"A".repeat(5000), true),
            ("GET / HTTP/1.1\r\nhost: x\r\n", false),
            ("\r\n\r\n\r\n", false),
        ] {
            for at_once in [1, 7, 5000] {
                let (server, mut client) = duplex(5000);
                let mut server = timed(server);
                let send = async {
                    for piece in bytes.as_bytes().chunks(at_once) {
                        client.write_all(piece).await.unwrap();
                        tokio::task::yield_now().await;
                    }
                };
                let (read, ()) = tokio::join!(server.next_head(5000, None), send);
                assert_eq!(read.is_ok(), is_whole, "{bytes:?} by {at_once}");
                if is_whole {
                    drop(client);
                    let mut seen = String::new();
                    server.read_to_string(&mut seen).await.unwrap();
                    assert_eq!(seen, bytes.trim_start());
                }
            }
        }
    }
}
