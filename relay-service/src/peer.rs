//! A client's socket.
//!
//! Its readiness tells that the client has left (`EPOLLRDHUP`), without reading.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::{BufMut, BytesMut};
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longest time to wait for a client that sends on after its answer has ended.
const LINGER: Duration = Duration::from_secs(2);

/// A client's socket, shared by its connection and its pair.
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

    /// The socket.
    pub(crate) fn stream(&self) -> &TcpStream {
        &self.0.stream
    }

    /// Reads up to `most` bytes, without waiting; 0 at the stream's end.
    ///
    /// # Errors
    /// Those of recv(2); `WouldBlock` if none have come.
    pub(crate) fn try_read(&self, buffer: &mut BytesMut, most: usize) -> io::Result<usize> {
        self.0.stream.try_read_buf(&mut buffer.limit(most))
    }

    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// Those of send(2), if the client has left.
    pub(crate) async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.0.stream.writable().await?;
            match self.0.stream.try_write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Bytes that have come and have not been read.
    pub(crate) fn unread(&self) -> u64 {
        // If it fails, the connection is gone, and `left` says so.
        rustix::io::ioctl_fionread(&self.0.stream).unwrap_or_default()
    }

    /// Resolves once the client has reset the connection, or cannot be reached any more.
    pub(crate) async fn failed(&self) {
        // Error readiness stays set.
        while let Ok(ready) = self.0.stream.ready(Interest::ERROR).await {
            if ready.is_error() {
                return;
            }
        }
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

    /// Closes this direction, then reads and drops what the client still sends, for a short time. Closing
    /// with unread bytes would reset the connection, and the client might lose its answer.
    pub(crate) async fn close(&self) {
        if self.0.cut.load(Ordering::Relaxed)
            || rustix::net::shutdown(&self.0.stream, rustix::net::Shutdown::Write).is_err()
        {
            return;
        }
        let drain = async {
            let mut dropped = vec![0; 16 * 1024];
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
}
