//! The messages that a sender gets while it waits and sends.

use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::sync::mpsc;

/// Messages kept for a sender that does not read. Further ones are dropped: receivers that come and go must not fill
/// the memory.
const MAX_MESSAGES: usize = 512;
/// The next message for a waiting sender, unless it is an error.
const NEXT: &[u8] = b"[INFO] A receiver was connected.\n";

/// Writes a sender's messages.
#[derive(Clone)]
pub(crate) struct Messages(mpsc::Sender<Bytes>);

impl Messages {
    pub(crate) fn new() -> (Self, Written) {
        let (messages, received) = mpsc::channel(MAX_MESSAGES);
        (Messages(messages), Written { received, ahead: 0 })
    }

    pub(crate) fn info(&self, text: &str) {
        self.write("INFO", text);
    }

    pub(crate) fn error(&self, text: &str) {
        self.write("ERROR", text);
    }

    /// Sends one byte to the client. If the client has left, its system answers with a reset. A proxy in between needs
    /// the byte too: it checks its client only when it reads or writes.
    pub(crate) fn probe(&self) {
        let _ = self.0.try_send(Bytes::new());
    }

    fn write(&self, level: &str, text: &str) {
        // Fails if the queue is full or the sender has left.
        let _ = self.0.try_send(format!("[{level}] {text}\n").into());
    }
}

/// The messages as the bytes of an answer. A probe is the first unsent byte of the next message: neither HTTP/2 nor a
/// proxy would forward anything else.
pub(crate) struct Written {
    received: mpsc::Receiver<Bytes>,
    /// Bytes of [`NEXT`] that have been sent.
    ahead: usize,
}

impl Written {
    /// The next bytes; `None` once nobody can write any more.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            let Some(message) = std::task::ready!(self.received.poll_recv(context)) else {
                return Poll::Ready(None);
            };
            if let Some(bytes) = self.next(message) {
                return Poll::Ready(Some(bytes));
            }
        }
    }

    /// The bytes to send for a message, or for a probe, which is an empty message.
    fn next(&mut self, mut message: Bytes) -> Option<Bytes> {
        if message.is_empty() {
            // A probe never sends the message's last byte.
            let byte = self.ahead..self.ahead + 1;
            self.ahead = byte.end.min(NEXT.len() - 1);
            return (byte.end < NEXT.len()).then(|| Bytes::from_static(&NEXT[byte]));
        }
        let ahead = &NEXT[..std::mem::take(&mut self.ahead)];
        Some(match message.starts_with(ahead) {
            true => message.split_off(ahead.len()),
            false => [b"\n", &message[..]].concat().into(),
        })
    }
}

#[cfg(test)]
mod tests;
