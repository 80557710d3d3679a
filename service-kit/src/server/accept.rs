//! The accept loop: a limit on connections, and a thread for each connection. `places.rs` decides which
//! connection is closed when the limit is reached, and which thread serves a new one.
//!
//! `docs/adr/0004-own-accept-loop.md` says why it is not `axum::serve`.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use super::clients::Clients;
use super::listener::Listener;
use super::places::Place;
use super::requests::Routes;
use super::stream::{StdStream, Stream};

/// Pause when file descriptors or memory are short.
const SHORTAGE: Duration = Duration::from_millis(50);
/// Such pauses while a listener closes.
const MAX_SHORTAGES: usize = 20;

/// A connection on its way to the thread that serves it.
pub(super) type Handed = (StdStream, Place);

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
        listeners: Vec<Listener>,
        routes: &impl Routes,
        stopped: impl Future<Output = ()>,
    ) {
        let mut stopped = pin!(stopped);
        let mut first = 0;
        loop {
            let accepted = tokio::select! {
                accepted = accept(&listeners, &mut first) => accepted,
                () = &mut stopped => break,
            };
            match accepted {
                Ok(stream) => {
                    self.admit(stream, routes);
                    self.clients.places.settle().await;
                }
                Err(error) if is_shortage(&error) => self.wait_for_files(&error).await,
                // One client has gone, or its network failed; the next may be waiting.
                Err(error) => tracing::debug!(%error, "cannot accept a connection"),
            }
        }
        for listener in listeners {
            if let Err(error) = self.close(listener, routes).await {
                tracing::warn!(%error, "cannot accept what is queued");
            }
        }
    }

    /// Gives a connection a place and a thread, or refuses it.
    fn admit(&self, stream: Stream, routes: &impl Routes) {
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
    /// nothing meanwhile.
    async fn close(&self, listener: Listener, routes: &impl Routes) -> io::Result<()> {
        let closing = listener.into_std()?.refuse_connects();
        let mut shortages = 0;
        loop {
            match closing.accept() {
                Ok(stream) => {
                    self.admit(stream, routes);
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

/// Accepts from any listener. The one after the last that had a connection is looked at first, so a busy one does not
/// keep the others waiting.
async fn accept(listeners: &[Listener], first: &mut usize) -> io::Result<Stream> {
    poll_fn(|context| {
        for step in 0..listeners.len() {
            let at = (*first + step) % listeners.len();
            if let Poll::Ready(accepted) = listeners[at].poll_accept(context) {
                *first = at + 1;
                return Poll::Ready(accepted);
            }
        }
        Poll::Pending
    })
    .await
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
