//! The accept loop: a limit on connections, and a thread for each connection. `places.rs` decides which
//! connection is closed when the limit is reached, and which thread serves a new one.
//!
//! `docs/adr/0004-own-accept-loop.md` says why it is not `axum::serve`.

use std::future::Future;
use std::io;
use std::net::TcpStream as StdTcpStream;
use std::pin::pin;
use std::time::Duration;

use socket2::{SockFilter, SockRef};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::UnboundedSender;

use super::clients::Clients;
use super::places::Place;
use super::requests::Routes;

/// Pause when file descriptors or memory are short.
const SHORTAGE: Duration = Duration::from_millis(50);
/// Such pauses while a listener closes.
const MAX_SHORTAGES: usize = 20;

/// A filter of classic BPF, in the form of `tcpdump -dd 'tcp[13] & 0x12 == 2'` turned round: drops the first
/// packet of a connection (SYN without ACK) and keeps all others, so that handshakes under way end.
const NO_CONNECTS: [SockFilter; 5] = [
    SockFilter::new(0x30, 0, 0, 13),   // load the flags of the TCP header
    SockFilter::new(0x54, 0, 0, 0x12), // only SYN and ACK
    SockFilter::new(0x15, 0, 1, 0x02), // if it is SYN alone
    SockFilter::new(0x06, 0, 0, 0),    // drop it
    SockFilter::new(0x06, 0, 0, u32::MAX), // else keep all its bytes
];

/// A connection on its way to the thread that serves it.
pub(super) type Handed = (StdTcpStream, Place);

/// Accepts connections on one thread.
pub(super) struct Acceptor<'a> {
    /// The connections of this thread, or of all threads of a shared runtime.
    pub(super) clients: &'a Clients,
    /// The number of this thread among those that serve; `None` if it only accepts.
    pub(super) home: Option<u16>,
    /// The ways to the threads that serve, by number; empty if there is no other.
    pub(super) threads: Vec<UnboundedSender<Handed>>,
}

impl Acceptor<'_> {
    /// Accepts until `stopped` resolves, then what clients have connected until then.
    pub(super) async fn run(
        self,
        listener: TcpListener,
        routes: &impl Routes,
        stopped: impl Future<Output = ()>,
    ) {
        let mut stopped = pin!(stopped);
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = &mut stopped => break,
            };
            match accepted {
                Ok((stream, _)) => {
                    self.admit(stream, routes);
                    self.clients.places.settle().await;
                }
                Err(error) if is_shortage(&error) => self.wait_for_files(&error).await,
                // One client has gone, or its network failed; the next may be waiting.
                Err(error) => tracing::debug!(%error, "cannot accept a connection"),
            }
        }
        if let Err(error) = self.close(listener, routes).await {
            tracing::warn!(%error, "cannot accept what is queued");
        }
    }

    /// Gives a connection a place and a thread, or refuses it.
    fn admit(&self, stream: TcpStream, routes: &impl Routes) {
        let Some(place) = self.clients.places.take(self.home) else {
            return self.clients.refuse(stream);
        };
        let thread = place.thread();
        match self.threads.get(usize::from(thread)).filter(|_| self.home != Some(thread)) {
            None => self.clients.serve(stream, place, routes.clone()),
            // If one of these fails, the connection or the thread is gone.
            Some(thread) => {
                if let Ok(stream) = stream.into_std() {
                    let _ = thread.send((stream, place));
                }
            }
        }
    }

    async fn wait_for_files(&self, error: &io::Error) {
        tracing::warn!(%error, "cannot accept connections");
        self.clients.places.close_one();
        tokio::time::sleep(SHORTAGE).await;
    }

    /// Closes the listener when its queue is empty, since closing resets what is in it. The kernel must add
    /// nothing meanwhile: it drops the first packets of further connections. A client that connects just then
    /// learns a second later, when its kernel repeats the packet, that nobody listens.
    async fn close(&self, listener: TcpListener, routes: &impl Routes) -> io::Result<()> {
        let listener = listener.into_std()?;
        // Without the filter a connection is lost if it comes between the last accept and the close.
        let _ = SockRef::from(&listener).attach_filter(&NO_CONNECTS);
        let mut shortages = 0;
        loop {
            match listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(true)?;
                    self.admit(TcpStream::from_std(stream)?, routes);
                    self.clients.places.settle().await;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if is_shortage(&error) => {
                    shortages += 1;
                    if shortages > MAX_SHORTAGES {
                        return Err(error);
                    }
                    self.wait_for_files(&error).await;
                }
                Err(error) => tracing::debug!(%error, "cannot accept a connection"),
            }
        }
    }
}

/// Whether accept(2) failed for lack of file descriptors or memory, which the next call lacks as well.
/// All its other errors concern one connection.
fn is_shortage(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|e| [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM].contains(&e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_shortage_pauses_the_accept_loop() {
        let error = |errno: rustix::io::Errno| io::Error::from(errno);
        use rustix::io::Errno;
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM] {
            assert!(is_shortage(&error(errno)), "{errno}");
        }
        let of_one = [Errno::CONNABORTED, Errno::PROTO, Errno::HOSTUNREACH, Errno::PERM];
        for errno in of_one {
            assert!(!is_shortage(&error(errno)), "{errno}");
        }
        assert!(!is_shortage(&io::ErrorKind::TimedOut.into()));
    }
}
