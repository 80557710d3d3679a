//! One connection: sends byte for byte, and reads an answer piece by piece.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use super::flood::flood_from;
use super::scenario::{End, Framing};
use crate::wire::Head;

/// Bytes that a flood sends at once.
const PIECE: usize = 64 * 1024;

pub(super) struct Client {
    stream: TcpStream,
    framing: Option<Framing>,
    received: Vec<u8>,
    body: Body,
    flood: Option<Running>,
    /// Bytes of a flood that have been read.
    read: u64,
}

struct Running {
    sent: Arc<AtomicU64>,
    thread: JoinHandle<io::Result<()>>,
}

/// What is still to come of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    Head,
    Length(u64),
    ChunkHead,
    /// Bytes of the chunk, with the line end after it.
    Chunk(u64),
    UntilClose,
    Whole,
    Cut,
}

impl Client {
    pub(super) fn new(stream: TcpStream, framing: Option<Framing>) -> Self {
        Client { stream, framing, received: Vec::new(), body: Body::Head, flood: None, read: 0 }
    }

    /// Sends bytes as they are.
    pub(super) fn send_raw(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.stream.write_all(bytes).context("sending")
    }

    /// Sends bytes of the body.
    pub(super) fn send(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        let framed = framed(self.framing, bytes);
        self.send_raw(&framed)
    }

    pub(super) fn end_body(&mut self) -> anyhow::Result<()> {
        if let Some(flood) = self.flood.take() {
            let ended = flood.thread.join();
            ended.map_err(|_| anyhow::anyhow!("the flood's thread"))?.context("sending")?;
        }
        if self.framing == Some(Framing::Chunked) { self.send_raw(b"0\r\n\r\n") } else { Ok(()) }
    }

    /// Sends `total` bytes from a thread.
    pub(super) fn flood(&mut self, total: u64) -> anyhow::Result<()> {
        let mut stream = self.stream.try_clone()?;
        // Receivers may be slow for a long time.
        stream.set_write_timeout(Some(Duration::from_secs(60)))?;
        let framing = self.framing;
        let sent = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&sent);
        let thread = std::thread::spawn(move || {
            for at in (0..total).step_by(PIECE) {
                let piece: Vec<u8> =
                    flood_from(at).take(PIECE.min((total - at) as usize)).collect();
                stream.write_all(&framed(framing, &piece))?;
                count.fetch_add(piece.len() as u64, Ordering::Relaxed);
            }
            Ok(())
        });
        self.flood = Some(Running { sent, thread });
        Ok(())
    }

    /// Waits until the flood makes no progress for a while. Fails if it reaches `limit` or ends.
    pub(super) fn check_stall(&self, limit: u64) -> anyhow::Result<()> {
        let flood = self.flood.as_ref().context("there is no flood")?;
        let mut before = u64::MAX;
        loop {
            let now = flood.sent.load(Ordering::Relaxed);
            ensure!(now < limit, "{now} bytes were taken; the limit is {limit}");
            ensure!(!flood.thread.is_finished(), "the flood has ended after {now} bytes");
            if now == before {
                return Ok(());
            }
            before = now;
            std::thread::sleep(Duration::from_millis(1500));
        }
    }

    pub(super) fn half_close(&self) -> anyhow::Result<()> {
        self.stream.shutdown(Shutdown::Write).context("half-closing")
    }

    /// Closes the connection and ends its flood.
    pub(super) fn leave(self) {
        // Both directions: the flood's thread has a copy of the socket.
        let _ = self.stream.shutdown(Shutdown::Both);
        if let Some(flood) = self.flood {
            let _ = flood.thread.join();
        }
    }

    /// Checks that nothing comes for `time`.
    pub(super) fn check_silence(&mut self, time: Duration) -> anyhow::Result<()> {
        let timeout = self.stream.read_timeout()?;
        self.stream.set_read_timeout(Some(time))?;
        let mut bytes = [0; 256];
        let read = self.stream.read(&mut bytes);
        self.stream.set_read_timeout(timeout)?;
        match read {
            Err(error) if is_timeout(&error) => Ok(()),
            Err(error) => Err(error).context("expected silence"),
            Ok(0) => bail!("expected silence, but the connection was closed"),
            Ok(count) => {
                bail!("expected silence, got {:?}", bytes[..count].escape_ascii().to_string())
            }
        }
    }

    /// Reads the answer's head.
    pub(super) fn head(&mut self, is_head_request: bool) -> anyhow::Result<Head> {
        ensure!(self.body == Body::Head, "the head has been read already");
        loop {
            if let Some((answer, length)) = Head::parse(&self.received)? {
                self.received.drain(..length);
                if answer.status / 100 == 1 {
                    continue; // 100 Continue
                }
                self.body = body_of(&answer, is_head_request)?;
                return Ok(answer);
            }
            match self.receive() {
                Ok(true) => {}
                Ok(false) => bail!("closed without an answer"),
                Err(error) => return Err(error).context("reading the head"),
            }
        }
    }

    /// The next bytes of the body, at most `limit`; empty at its end.
    fn next(&mut self, limit: usize) -> anyhow::Result<Vec<u8>> {
        loop {
            self.skip_chunk_head()?;
            let rest = match self.body {
                Body::Head => bail!("the head has not been read"),
                Body::Whole | Body::Cut => return Ok(Vec::new()),
                Body::Length(rest) => usize::try_from(rest)?,
                Body::Chunk(rest) => usize::try_from(rest.saturating_sub(2))?,
                Body::ChunkHead => 0,
                Body::UntilClose => usize::MAX,
            };
            let count = rest.min(limit).min(self.received.len());
            if count > 0 {
                match &mut self.body {
                    Body::Length(rest) | Body::Chunk(rest) => *rest -= count as u64,
                    _ => {}
                }
                if self.body == Body::Length(0) {
                    self.body = Body::Whole;
                }
                return Ok(self.received.drain(..count).collect());
            }
            match self.receive() {
                Ok(true) => {}
                Ok(false) if self.body == Body::UntilClose => self.body = Body::Whole,
                Err(error) if is_timeout(&error) => bail!("nothing more comes"),
                Ok(false) | Err(_) => self.body = Body::Cut,
            }
        }
    }

    /// Skips line ends and sizes between chunks, as far as they have arrived.
    fn skip_chunk_head(&mut self) -> anyhow::Result<()> {
        if let Body::Chunk(rest @ 1..=2) = self.body
            && self.received.len() as u64 >= rest
        {
            self.received.drain(..usize::try_from(rest)?);
            self.body = Body::ChunkHead;
        }
        if self.body != Body::ChunkHead {
            return Ok(());
        }
        let size = httparse::parse_chunk_size(&self.received);
        let httparse::Status::Complete((start, size)) =
            size.map_err(|_| anyhow::anyhow!("a chunk has no size"))?
        else {
            return Ok(());
        };
        if size > 0 {
            self.received.drain(..start);
            self.body = Body::Chunk(size + 2);
        } else if self.received[start..].starts_with(b"\r\n") {
            self.received.drain(..start + 2);
            self.body = Body::Whole;
        }
        Ok(())
    }

    /// Reads exactly `expected`.
    pub(super) fn read(&mut self, expected: &[u8]) -> anyhow::Result<()> {
        let mut got = Vec::new();
        while got.len() < expected.len() {
            let bytes = self.next(expected.len() - got.len());
            let bytes = bytes.with_context(|| format!("after {:?}", shown(&got)))?;
            if bytes.is_empty() {
                break;
            }
            got.extend(bytes);
        }
        ensure!(got == expected, "expected {:?}, got {:?}", shown(expected), shown(&got));
        Ok(())
    }

    /// Reads `total` bytes of a flood.
    pub(super) fn read_flood(&mut self, total: u64) -> anyhow::Result<()> {
        let end = self.read + total;
        while self.read < end {
            let bytes = self.next(usize::try_from(end - self.read)?)?;
            ensure!(!bytes.is_empty(), "ended after {} of {end} bytes", self.read);
            let wrong = bytes.iter().zip(flood_from(self.read)).position(|(got, due)| *got != due);
            ensure!(
                wrong.is_none(),
                "another byte at {}",
                self.read + wrong.unwrap_or_default() as u64
            );
            self.read += bytes.len() as u64;
        }
        Ok(())
    }

    /// Reads whatever comes, to the end. An answer without a head counts as cut, and so does a proxy's error (5xx) in
    /// its place.
    pub(super) fn end_of_all(&mut self) -> anyhow::Result<End> {
        while self.body == Body::Head {
            match self.receive() {
                Ok(true) if Head::parse(&self.received)?.is_some() => {
                    if self.head(false)?.status >= 500 {
                        return Ok(End::Cut);
                    }
                }
                Ok(true) => {}
                Err(error) if is_timeout(&error) => bail!("nothing comes"),
                Ok(false) | Err(_) => return Ok(End::Cut),
            }
        }
        self.end(true)
    }

    /// Reads to the end; no more bytes may come, unless `any`.
    pub(super) fn end(&mut self, any: bool) -> anyhow::Result<End> {
        loop {
            let bytes = self.next(PIECE)?;
            if bytes.is_empty() {
                return Ok(if self.body == Body::Whole { End::Whole } else { End::Cut });
            }
            ensure!(any, "expected the end, got {:?}", shown(&bytes));
        }
    }

    /// Reads more bytes. Returns `false` at an orderly close.
    fn receive(&mut self) -> io::Result<bool> {
        let mut bytes = [0; PIECE];
        let count = loop {
            match self.stream.read(&mut bytes) {
                // A read with a timeout is interrupted if the process is stopped and continued: signal(7).
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.received.extend_from_slice(&bytes[..count]);
        Ok(count > 0)
    }
}

/// How the body after a head is framed.
fn body_of(head: &Head, is_head_request: bool) -> anyhow::Result<Body> {
    if is_head_request || head.status == 204 || head.status == 304 {
        return Ok(Body::Whole);
    }
    if head.header("transfer-encoding").is_some() {
        ensure!(head.header("content-length").is_none(), "both framings at once");
        return Ok(Body::ChunkHead);
    }
    Ok(match head.header("content-length") {
        Some(length) if length == "0" => Body::Whole,
        Some(length) => Body::Length(length.parse().context("Content-Length")?),
        None => Body::UntilClose,
    })
}

fn framed(framing: Option<Framing>, bytes: &[u8]) -> Vec<u8> {
    if framing != Some(Framing::Chunked) || bytes.is_empty() {
        return bytes.to_vec();
    }
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn shown(bytes: &[u8]) -> String {
    crate::report::shorten(bytes)
}
