//! A request's body, read from its socket.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::Interest;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::chunks::Chunks;
use super::pipe::Slot;
use crate::peer::Peer;
use crate::transfer::{Broken, Piece};

/// What is read at once, to be copied.
const SMALL_BYTES: usize = 16 * 1024;
/// The same if there are no pipes, and so many bytes have been copied before: a pair whose receivers do not
/// read comes to a stand before, and holds little.
const LARGE_BYTES: usize = 256 * 1024;
const LARGE_AFTER: u64 = 8 * 1024 * 1024;
/// So many bodies at once may be read so: 16 MiB, whatever their receivers do.
static LARGE_READS: Semaphore = Semaphore::const_new(64);
/// Splicing fewer bytes than this is slower than copying them.
const LEAST_SPLICED: u64 = 16 * 1024;
/// Enough for the framing between two chunks.
const FRAMING_BYTES: usize = 32;

/// How long a body is.
#[derive(Debug)]
pub(crate) enum Framing {
    /// So many bytes are left.
    Length(u64),
    Chunked(Chunks),
}

impl Framing {
    fn payload(&self) -> u64 {
        match self {
            Framing::Length(rest) => *rest,
            Framing::Chunked(chunks) => chunks.payload(),
        }
    }

    fn took(&mut self, count: usize) {
        match self {
            Framing::Length(rest) => *rest = rest.saturating_sub(count as u64),
            Framing::Chunked(chunks) => chunks.took(count as u64),
        }
    }

    fn is_ended(&self) -> bool {
        match self {
            Framing::Length(rest) => *rest == 0,
            Framing::Chunked(chunks) => chunks.is_ended(),
        }
    }
}

/// The body of an HTTP/1 request.
pub(crate) struct SocketBody {
    peer: Peer,
    /// What has been read and not used; after the body's end, the next request.
    ahead: BytesMut,
    framing: Framing,
    /// Much came at once, so more is likely.
    is_fast: bool,
    /// The size of the last chunk.
    chunk: u64,
    /// Bytes of framing since its payload, and bytes that there were before it. Large chunks are mostly of one
    /// size, so exactly the framing can be read, and all payload spliced.
    framed: usize,
    expected: usize,
    /// Bytes that were copied.
    copied: u64,
    /// Held from when large pieces are read.
    large: Option<SemaphorePermit<'static>>,
}

impl SocketBody {
    /// `ahead` was read from `peer` beyond the request's head.
    pub(crate) fn new(peer: Peer, ahead: BytesMut, framing: Framing) -> Self {
        let ahead = if ahead.is_empty() { BytesMut::new() } else { ahead };
        SocketBody {
            peer,
            ahead,
            framing,
            is_fast: false,
            chunk: 0,
            framed: 0,
            expected: FRAMING_BYTES,
            copied: 0,
            large: None,
        }
    }

    /// The length, if the head says it.
    pub(crate) fn length(&self) -> Option<u64> {
        match self.framing {
            Framing::Length(length) => Some(length),
            Framing::Chunked(_) => None,
        }
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.framing.is_ended()
    }

    /// What has been read beyond the body.
    pub(crate) fn into_ahead(self) -> BytesMut {
        self.ahead
    }

    /// Drops what has been read of the body. Returns whether it was all.
    pub(crate) fn skip(&mut self) -> bool {
        while let Ok(Some(piece)) = self.next_ahead() {
            drop(piece);
        }
        if self.ahead.is_empty() {
            self.ahead = BytesMut::new();
        }
        self.is_ended()
    }

    /// The next bytes; large ones are left in the pipe of `slot`, if it has one. `None` at the body's end.
    /// Cancel safe.
    pub(crate) async fn next(&mut self, slot: &mut Slot) -> Result<Option<Piece>, Broken> {
        loop {
            if let Some(bytes) = self.next_ahead()? {
                let piped = self.fill(slot).unwrap_or(0);
                return Ok(Some(Piece { bytes, piped }));
            }
            if self.is_ended() {
                return Ok(None);
            }
            let got = match self.fill(slot) {
                Ok(piped @ 1..) => {
                    let piped = piped + self.fill_on(slot)?;
                    return Ok(Some(Piece { bytes: Bytes::new(), piped }));
                }
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                    self.read(slot.is_open())
                }
                got => got,
            };
            match got {
                Ok(0) => return Err(Broken),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // One who waits holds neither buffer nor pipe.
                    self.ahead = BytesMut::new();
                    slot.release();
                    self.peer.stream().readable().await.map_err(|_| Broken)?;
                }
                Err(_) => return Err(Broken),
            }
        }
    }

    /// Payload from what has been read.
    fn next_ahead(&mut self) -> Result<Option<Bytes>, Broken> {
        self.take_framing()?;
        let payload = usize::try_from(self.framing.payload()).unwrap_or(usize::MAX);
        let count = payload.min(self.ahead.len());
        if count == 0 {
            return Ok(None);
        }
        self.framing.took(count);
        self.copied += count as u64;
        Ok(Some(self.ahead.split_to(count).freeze()))
    }

    fn take_framing(&mut self) -> Result<(), Broken> {
        let Framing::Chunked(chunks) = &mut self.framing else { return Ok(()) };
        let taken = chunks.take(&self.ahead).map_err(|_| Broken)?;
        self.ahead.advance(taken);
        self.framed += taken;
        if taken > 0 && chunks.payload() > 0 {
            self.chunk = chunks.payload();
            self.expected = self.framed.min(FRAMING_BYTES);
            self.framed = 0;
        }
        Ok(())
    }

    /// Splices payload.
    ///
    /// # Errors
    /// `Unsupported` if it has to be copied; `WouldBlock`; those of splice(2).
    fn fill(&mut self, slot: &mut Slot) -> io::Result<usize> {
        let payload = self.framing.payload();
        if !self.is_fast || payload < LEAST_SPLICED || !self.ahead.is_empty() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let pipe = slot.get().ok_or(io::ErrorKind::Unsupported)?;
        // A receiver that does not read would hold it, too.
        self.ahead = BytesMut::new();
        let stream = self.peer.stream();
        let count = stream.try_io(Interest::READABLE, || pipe.fill(stream, payload))?;
        self.framing.took(count);
        self.is_fast = count as u64 >= LEAST_SPLICED;
        Ok(count)
    }

    /// Splices further large chunks that have come already. What fails here fails again in the next call.
    fn fill_on(&mut self, slot: &mut Slot) -> Result<usize, Broken> {
        let mut piped = 0;
        while self.chunk >= LEAST_SPLICED && self.framing.payload() == 0 && !self.is_ended() {
            let has_room = slot.held().is_some_and(|pipe| pipe.room() as u64 >= LEAST_SPLICED);
            if !has_room || !matches!(self.read(true), Ok(1..)) {
                break;
            }
            self.take_framing()?;
            let payload = self.framing.payload();
            let Some(pipe) = slot.held().filter(|_| self.ahead.is_empty()) else { break };
            if payload < LEAST_SPLICED {
                continue;
            }
            // Not by `try_io`: it would take a full pipe for an empty socket.
            let Ok(count @ 1..) = pipe.fill(self.peer.stream(), payload) else { break };
            self.framing.took(count);
            piped += count;
        }
        Ok(piped)
    }

    fn copied_at_once(&mut self) -> usize {
        if self.large.is_none() && self.copied >= LARGE_AFTER {
            self.large = LARGE_READS.try_acquire().ok();
        }
        if self.large.is_some() { LARGE_BYTES } else { SMALL_BYTES }
    }

    /// Reads payload, framing or both.
    fn read(&mut self, has_pipe: bool) -> io::Result<usize> {
        let is_between = self.framing.payload() == 0 && self.chunk >= LEAST_SPLICED;
        let is_framing = has_pipe && self.is_fast && is_between;
        let most = match (has_pipe, is_framing) {
            (true, true) => self.expected.saturating_sub(self.framed).max(2),
            (true, false) => SMALL_BYTES,
            (false, _) => self.copied_at_once(),
        };
        let mut buffer = std::mem::take(&mut self.ahead);
        buffer.reserve(most);
        let got = self.peer.try_read(&mut buffer, most);
        self.ahead = buffer;
        if !is_framing {
            self.is_fast = got.as_ref().is_ok_and(|&got| got == most);
        }
        got
    }
}
