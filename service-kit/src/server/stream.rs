//! A client's connection, over TCP or a Unix socket.

use std::io;
use std::net::TcpStream as StdTcpStream;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustix::net::sockopt::set_socket_send_buffer_size;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// Bytes that the kernel takes for a client that does not read. Linux would take megabytes, and would
/// ask for more only after a third of them, so that a slow reader would look as if it did not read.
const SEND_BUFFER: usize = 64 * 1024;

/// A connection on the runtime that serves it.
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    /// Sets what serving needs. If this fails, the connection is gone and reading from it says so.
    pub(super) fn prepare(&self) {
        match self {
            Stream::Tcp(stream) => {
                // Nagle's algorithm would delay small answers.
                let _ = stream.set_nodelay(true);
                let _ = set_socket_send_buffer_size(stream, SEND_BUFFER);
            }
            Stream::Unix(stream) => {
                let _ = set_socket_send_buffer_size(stream, SEND_BUFFER);
            }
        }
    }

    pub(super) fn into_std(self) -> io::Result<StdStream> {
        Ok(match self {
            Stream::Tcp(stream) => StdStream::Tcp(stream.into_std()?),
            Stream::Unix(stream) => StdStream::Unix(stream.into_std()?),
        })
    }
}

/// A connection between two runtimes. It does not block.
pub(super) enum StdStream {
    Tcp(StdTcpStream),
    Unix(StdUnixStream),
}

impl TryFrom<StdStream> for Stream {
    type Error = io::Error;

    fn try_from(stream: StdStream) -> io::Result<Self> {
        Ok(match stream {
            StdStream::Tcp(stream) => Stream::Tcp(TcpStream::from_std(stream)?),
            StdStream::Unix(stream) => Stream::Unix(UnixStream::from_std(stream)?),
        })
    }
}

/// Calls a method of either stream.
macro_rules! either {
    ($stream:expr, $inner:ident => $call:expr) => {
        match $stream.get_mut() {
            Stream::Tcp($inner) => $call,
            Stream::Unix($inner) => $call,
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        either!(self, stream => Pin::new(stream).poll_read(context, buffer))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        either!(self, stream => Pin::new(stream).poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        either!(self, stream => Pin::new(stream).poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        // Both are.
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, stream => Pin::new(stream).poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, stream => Pin::new(stream).poll_shutdown(context))
    }
}
