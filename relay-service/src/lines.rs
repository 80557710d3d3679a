//! The lines that a sender gets while it waits and sends.

use std::io::{self, Write as _};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::peer::Peer;

/// Lines that wait for a sender who does not read. Any more are dropped: receivers that come and go
/// must not fill the memory.
const MAX_LINES: usize = 512;
/// The line that comes next for a sender who waits, unless it is an error.
const NEXT: &[u8] = b"[INFO] A receiver was connected.\n";
/// The header of an answer over HTTP/1.0 that has a byte for each probe, and the most that it gets: clients
/// limit an answer's head, the strictest common one (Node) to 16 KiB.
const PROBES_HEADER: &[u8] = b"x-waiting: ";
const MAX_PROBES: usize = 8 * 1024;

/// Writes a sender's lines; the answer ends when all clones are dropped.
#[derive(Clone)]
pub(crate) struct Lines(mpsc::Sender<Bytes>);

impl Lines {
    pub(crate) fn new() -> (Self, mpsc::Receiver<Bytes>) {
        let (lines, received) = mpsc::channel(MAX_LINES);
        (Lines(lines), received)
    }

    pub(crate) fn info(&self, text: &str) {
        self.write("INFO", text);
    }

    pub(crate) fn error(&self, text: &str) {
        self.write("ERROR", text);
    }

    /// Has a byte sent to the client that changes no line. If the client has left, its system answers with a
    /// reset.
    pub(crate) fn probe(&self) {
        let _ = self.0.try_send(Bytes::new());
    }

    /// Resolves once nobody reads the lines any more: the sender has left.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }

    fn write(&self, level: &str, text: &str) {
        // Full, or the sender has left.
        let _ = self.0.try_send(format!("[{level}] {text}\n").into());
    }
}

/// The lines as the body of an answer over HTTP/2. A probe is the next byte of the line that comes next: the
/// proxy that passes it on leaves no other place for it.
pub(crate) struct LinesBody {
    lines: mpsc::Receiver<Bytes>,
    /// Bytes of [`NEXT`] that have been sent.
    ahead: usize,
}

impl LinesBody {
    pub(crate) fn new(lines: mpsc::Receiver<Bytes>) -> Self {
        LinesBody { lines, ahead: 0 }
    }

    /// The next bytes; `None` at the end.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        while let Some(mut line) = ready!(self.lines.poll_recv(context)) {
            let ahead = &NEXT[..self.ahead];
            if line.is_empty() {
                // The line's end is never sent before the line.
                if self.ahead + 1 < NEXT.len() {
                    self.ahead += 1;
                    return Poll::Ready(Some(Bytes::from_static(
                        &NEXT[self.ahead - 1..self.ahead],
                    )));
                }
                continue;
            }
            let next = match line.starts_with(ahead) {
                true => line.split_off(ahead.len()),
                false => [b"\n", &line[..]].concat().into(),
            };
            self.ahead = 0;
            return Poll::Ready(Some(next));
        }
        Poll::Ready(None)
    }
}

/// Collects a sender's lines for an answer over HTTP/1.0, which has no chunks. Until they have ended, probes
/// begin the answer: `status_line`, and a header that grows. Returns the lines, and whether that has
/// been written.
///
/// # Errors
/// If the client has left.
pub(crate) async fn collect(
    peer: &Peer,
    status_line: &[u8],
    mut lines: mpsc::Receiver<Bytes>,
) -> io::Result<(Vec<u8>, bool)> {
    let (mut all, mut probes) = (Vec::new(), 0);
    loop {
        let line = tokio::select! {
            biased;
            line = lines.recv() => line,
            () = peer.failed() => return Err(io::ErrorKind::ConnectionReset.into()),
        };
        match line {
            None => return Ok((all, probes > 0)),
            Some(line) if !line.is_empty() => all.extend_from_slice(&line),
            Some(_) if probes == MAX_PROBES => {}
            Some(_) => {
                if probes == 0 {
                    peer.write_all(&[status_line, PROBES_HEADER].concat()).await?;
                }
                probes += 1;
                peer.write_all(b".").await?;
            }
        }
    }
}

/// Writes a sender's answer over HTTP/1.1: `head`, and a chunk for each line.
///
/// # Errors
/// If the client has left.
pub(crate) async fn write(
    peer: &Peer,
    head: Vec<u8>,
    mut lines: mpsc::Receiver<Bytes>,
) -> io::Result<()> {
    let mut chunks = Chunks { bytes: head, probes: false };
    loop {
        while let Ok(line) = lines.try_recv() {
            chunks.add(&line);
        }
        peer.write_all(&std::mem::take(&mut chunks.bytes)).await?;
        let line = tokio::select! {
            biased;
            line = lines.recv() => line,
            () = peer.failed() => return Err(io::ErrorKind::ConnectionReset.into()),
        };
        match line {
            Some(line) => chunks.add(&line),
            // A chunk has been begun for probes: there is no whole end.
            None if chunks.probes => return Err(io::ErrorKind::BrokenPipe.into()),
            None => return peer.write_all(b"0\r\n\r\n").await,
        }
    }
}

struct Chunks {
    /// What has not been written yet.
    bytes: Vec<u8>,
    /// The head of a chunk of one byte has been written, with probes as its extension (RFC 9112, section
    /// 7.1.1), which every client ignores.
    probes: bool,
}

impl Chunks {
    fn add(&mut self, mut line: &[u8]) {
        let Some((first, rest)) = line.split_first() else {
            self.bytes.extend_from_slice(if self.probes { b"p" } else { b"1;p" });
            self.probes = true;
            return;
        };
        if std::mem::take(&mut self.probes) {
            self.bytes.extend_from_slice(&[b'\r', b'\n', *first, b'\r', b'\n']);
            line = rest;
        }
        // Writing to a Vec cannot fail.
        let _ = write!(self.bytes, "{:X}\r\n", line.len());
        self.bytes.extend_from_slice(line);
        self.bytes.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    /// What a client gets of these lines; an empty one is a probe.
    async fn body(lines: &[&'static str]) -> String {
        let (sender, received) = mpsc::channel(MAX_LINES);
        for line in lines {
            sender.try_send(Bytes::from_static(line.as_bytes())).unwrap();
        }
        drop(sender);
        let (mut body, mut all) = (LinesBody::new(received), Vec::new());
        while let Some(bytes) = poll_fn(|context| body.poll(context)).await {
            all.extend_from_slice(&bytes);
        }
        String::from_utf8(all).unwrap()
    }

    #[tokio::test]
    async fn probes_are_bytes_of_the_line_that_follows() {
        let came = "[INFO] A receiver was connected.\n";
        let starts = "[INFO] Start sending to 2 receiver(s)!\n";
        for probes in [0, 1, 7, 31, 32, 33, 100] {
            let some = vec![""; probes];
            let lines = [&some[..], &[came], &some, &[came, starts]].concat();
            assert_eq!(body(&lines).await, [came, came, starts].concat(), "{probes}");
        }
        let alone = body(&[""; 100]).await;
        assert_eq!(alone, came.trim_end(), "the line is not whole before somebody came");
    }

    #[tokio::test]
    async fn an_error_after_probes_has_a_line_of_its_own() {
        let error = "[ERROR] Too late.\n";
        assert_eq!(body(&["", error]).await, error);
        assert_eq!(body(&["", "", error]).await, "[I\n[ERROR] Too late.\n");
    }
}
