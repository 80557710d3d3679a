//! The answer to a receiver, written to its socket.

use std::future::Future;
use std::io::{self, IoSlice, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{HeaderMap, Response, Version};
use rustix::net::SendFlags;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::head::{self, AnswerBody};
use super::pipe::Pipe;
use crate::body::Body;
use crate::peer::Peer;
use crate::transfer::Piece;

const LINE_END: &[u8] = b"\r\n";

/// What the connection of a receiver hears.
pub(crate) enum Told {
    /// It has to write this answer.
    Answer(Response<Body>),
    /// The whole answer has been written.
    Whole,
}

/// A receiver that waits on its connection.
pub(crate) struct WaitingSocket {
    pub(crate) peer: Peer,
    pub(crate) version: Version,
    /// The connection closes after this answer.
    pub(crate) closes: bool,
    /// Dropped if the answer is cut.
    pub(crate) told: oneshot::Sender<Told>,
}

/// A receiver's answer under way. Dropped before its end, it cuts the connection.
pub(crate) struct Sink {
    peer: Peer,
    told: Option<oneshot::Sender<Told>>,
    left: Pin<Box<dyn Future<Output = ()> + Send>>,
    is_chunked: bool,
    /// The line end of the last chunk, as far as it has not been written. It is written with the next
    /// chunk, or when the sender pauses.
    owed: &'static [u8],
    /// The answer's head, until the first bytes are written.
    head: Vec<u8>,
    /// Bytes up to the answer's Content-Length.
    rest: Option<u64>,
    /// This receiver's share of what all get.
    pipe: Option<Pipe>,
}

impl WaitingSocket {
    /// Begins the answer, of `length` bytes if that is known.
    pub(crate) fn begin(self, headers: HeaderMap, length: Option<u64>) -> Sink {
        let mut response = Response::new(());
        *response.headers_mut() = headers;
        let body = match (length, self.version) {
            (Some(_), _) => AnswerBody::Described,
            (None, Version::HTTP_10) => AnswerBody::UntilClose,
            (None, _) => AnswerBody::Chunked,
        };
        let peer = self.peer.clone();
        Sink {
            left: Box::pin(async move { peer.left().await }),
            peer: self.peer,
            told: Some(self.told),
            is_chunked: matches!(body, AnswerBody::Chunked),
            owed: b"",
            rest: length,
            head: head::write(&response, self.version, body, self.closes),
            pipe: None,
        }
    }
}

impl Sink {
    /// Resolves once the receiver has left before it has got all.
    pub(crate) fn poll_left(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.rest == Some(0) && self.head.is_empty() {
            return Poll::Pending;
        }
        self.left.as_mut().poll(context)
    }

    /// This receiver's pipe, which is empty.
    pub(crate) fn own_pipe(&mut self) -> &mut Option<Pipe> {
        &mut self.pipe
    }

    /// Writes a piece; what is piped comes from `shared`, or from this receiver's pipe. Returns whether the
    /// receiver is still there.
    pub(crate) async fn send(&mut self, piece: &Piece, shared: Option<&mut Pipe>) -> bool {
        let mut own = self.pipe.take();
        let is_there = match shared.or(own.as_mut()) {
            Some(pipe) if piece.piped > 0 => self.send_piped(piece, pipe).await,
            _ => self.send_copied(&piece.bytes).await,
        };
        self.pipe = own;
        let count = (piece.bytes.len() + piece.piped) as u64;
        self.rest = self.rest.map(|rest| rest.saturating_sub(count));
        is_there.is_ok()
    }

    /// Writes the head and what is owed, before the sender pauses. Cancel safe.
    pub(crate) async fn settle(&mut self) -> io::Result<()> {
        while !self.head.is_empty() {
            let head = std::mem::take(&mut self.head);
            let result = self.write(|stream| stream.try_write(&head)).await;
            self.head = head;
            self.head.drain(..result?);
        }
        while !self.owed.is_empty() {
            let owed = self.owed;
            let count = self.write(|stream| stream.try_write(owed)).await?;
            self.owed = &owed[count..];
        }
        Ok(())
    }

    /// Ends the answer. Returns whether the receiver is still there.
    pub(crate) async fn end(mut self) -> bool {
        let mut last = std::mem::take(&mut self.head);
        last.extend_from_slice(self.owed);
        if self.is_chunked {
            last.extend_from_slice(b"0\r\n\r\n");
        }
        if self.write_all([&last, b"", b""]).await.is_err() {
            return false;
        }
        // Its connection may have been given up.
        self.told.take().is_some_and(|told| told.send(Told::Whole).is_ok())
    }

    async fn send_copied(&mut self, bytes: &[u8]) -> io::Result<()> {
        let before = self.before_chunk(bytes.len());
        let after = if self.is_chunked { LINE_END } else { b"" };
        self.write_all([&before, bytes, after]).await
    }

    async fn send_piped(&mut self, piece: &Piece, pipe: &mut Pipe) -> io::Result<()> {
        let mut before = self.before_chunk(piece.bytes.len() + piece.piped);
        before.extend_from_slice(&piece.bytes);
        let mut rest = &before[..];
        while !rest.is_empty() {
            // More follows, so the system waits for it instead of sending a small packet.
            let flags = SendFlags::MORE | SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            let count = self.write(|stream| Ok(rustix::net::send(stream, rest, flags)?)).await?;
            rest = &rest[count..];
        }
        while !pipe.is_empty() {
            self.write(|stream| pipe.drain(stream)).await?;
        }
        if self.is_chunked {
            self.owed = LINE_END;
        }
        Ok(())
    }

    /// What comes before a chunk of so many bytes.
    fn before_chunk(&mut self, count: usize) -> Vec<u8> {
        let mut before = std::mem::take(&mut self.head);
        if self.is_chunked {
            before.extend_from_slice(std::mem::take(&mut self.owed));
            // Writing to a Vec cannot fail.
            let _ = write!(before, "{count:X}\r\n");
        }
        before
    }

    async fn write_all(&mut self, parts: [&[u8]; 3]) -> io::Result<()> {
        let mut slices = parts.map(IoSlice::new);
        let mut rest = &mut slices[..];
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            let count = self.write(|stream| stream.try_write_vectored(rest)).await?;
            IoSlice::advance_slices(&mut rest, count);
        }
        Ok(())
    }

    /// Calls `write` when the socket has room, until the receiver leaves.
    async fn write(
        &mut self,
        mut write: impl FnMut(&TcpStream) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let stream = self.peer.stream();
        loop {
            match stream.try_io(Interest::WRITABLE, || write(stream)) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return result,
            }
            tokio::select! {
                writable = stream.writable() => writable?,
                () = &mut self.left => return Err(io::ErrorKind::BrokenPipe.into()),
            }
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        if self.told.is_some() {
            self.peer.cut();
        }
    }
}
