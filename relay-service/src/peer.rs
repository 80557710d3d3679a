//! The socket of an HTTP/1 connection, beside hyper.
//!
//! hyper reads only while somebody wants a body. So it does not see that a client has left while its
//! request waits. The socket's readiness does (`EPOLLRDHUP`), without reading.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longest time to wait for a client that sends on after its answer has ended.
const LINGER: Duration = Duration::from_secs(2);

/// A client's socket, shared between hyper and the relay.
#[derive(Clone)]
pub(crate) struct Peer(Arc<Shared>);

struct Shared {
    stream: TcpStream,
    cut: AtomicBool,
}

impl Peer {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Peer(Arc::new(Shared { stream, cut: AtomicBool::new(false) }))
    }

    /// Resolves once the client has closed its direction of the connection, or all of it.
    pub(crate) async fn left(&self) {
        // `PRIORITY` also wakes for a closed read direction, but not for bytes that can be read.
        // Out-of-band bytes would wake it too; they can be ignored once.
        loop {
            match self.0.stream.ready(Interest::PRIORITY).await {
                Ok(ready) if ready.is_read_closed() => return,
                Err(_) => return,
                // Priority readiness stays set: nobody clears it. Look again, slowly.
                Ok(_) => tokio::time::sleep(Duration::from_millis(500)).await,
            }
        }
    }

    /// Makes the connection end with a reset, so that no client takes what it got for a whole: an
    /// answer to HTTP/1.0 has no other end than that of its connection.
    pub(crate) fn cut(&self) {
        self.0.cut.store(true, Ordering::Relaxed);
        // If it fails, the connection is gone already.
        let _ = self.0.stream.set_zero_linger();
    }

    /// After hyper has closed its direction: reads and drops what the client still sends, for a short
    /// time. Closing with unread bytes would reset the connection, and the client might lose its answer.
    pub(crate) async fn linger(&self) {
        if self.0.cut.load(Ordering::Relaxed) {
            return;
        }
        let drain = async {
            let mut dropped = vec![0; 64 * 1024];
            loop {
                self.0.stream.readable().await?;
                match self.0.stream.try_read(&mut dropped) {
                    Ok(0) => return io::Result::Ok(()),
                    Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                    _ => {}
                }
            }
        };
        // The connection closes in any case.
        let _ = timeout(LINGER, drain).await;
    }

    /// Bytes that have arrived, without taking them.
    pub(crate) async fn peek(&self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.stream.peek(bytes).await
    }
}

impl AsyncRead for Peer {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.stream.poll_read_ready(context))?;
            match self.0.stream.try_read(buffer.initialize_unfilled()) {
                Ok(count) => {
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl Peer {
    /// Tries to write until the socket is ready, and takes part.
    fn poll_write_with(
        &self,
        context: &mut Context<'_>,
        write: impl Fn(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.stream.poll_write_ready(context))?;
            match write(&self.0.stream) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }
}

impl AsyncWrite for Peer {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(context, |stream| stream.try_write(bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(context, |stream| stream.try_write_vectored(slices))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let socket = rustix::net::shutdown(&self.0.stream, rustix::net::Shutdown::Write);
        Poll::Ready(socket.map_err(Into::into))
    }
}
