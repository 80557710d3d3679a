//! A listener of either kind, and how it closes without losing a connection.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener as StdTcpListener};
use std::os::unix::net::UnixListener as StdUnixListener;
use std::task::{Context, Poll, ready};

use socket2::{Domain, Protocol, SockFilter, SockRef, Socket, Type};
use tokio::net::{TcpListener, UnixListener};

use super::stream::{StdStream, Stream};
use super::unix_socket::{self, SocketFile};
use crate::{ListenAddr, SocketPath};

/// Connections that the kernel accepts for a listener before the service does. The 128 of tokio's `bind` are one
/// burst while the machine is busy: the kernel drops the next ones, and their clients try again after a second, when
/// nginx has given up. If the service hangs, a proxy cannot connect once the queue is full, and gives up sooner than
/// with all of its requests in a longer one.
pub(super) const BACKLOG: u16 = 1024;

/// A filter of classic BPF, in the form of `tcpdump -dd 'tcp[13] & 0x12 == 2'` turned round: drops the first
/// packet of a connection (SYN without ACK) and keeps all others, so that handshakes under way end.
const NO_CONNECTS: [SockFilter; 5] = [
    SockFilter::new(0x30, 0, 0, 13),   // load the flags of the TCP header
    SockFilter::new(0x54, 0, 0, 0x12), // only SYN and ACK
    SockFilter::new(0x15, 0, 1, 0x02), // if it is SYN alone
    SockFilter::new(0x06, 0, 0, 0),    // drop it
    SockFilter::new(0x06, 0, 0, u32::MAX), // else keep all its bytes
];

/// Whether a port may be shared with other sockets of this process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Port {
    /// No.
    Alone,
    /// Others of this process will join it.
    First,
    /// It joins them.
    Another,
}

/// Listens on a port.
pub(super) fn listen_tcp(addr: SocketAddr, port: Port) -> io::Result<StdTcpListener> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    // A service that starts anew need not wait until old connections are forgotten.
    socket.set_reuse_address(true)?;
    // The first socket finds out whether the port is free: with `SO_REUSEPORT` before its bind, a second process of
    // the same user would take half of the connections.
    socket.set_reuse_port(port == Port::Another)?;
    socket.bind(&addr.into())?;
    socket.set_reuse_port(port != Port::Alone)?;
    socket.listen(BACKLOG.into())?;
    Ok(socket.into())
}

/// A bound socket that does not block.
pub(super) enum StdListener {
    Tcp(StdTcpListener),
    /// The file comes first, since it is dropped first.
    Unix(SocketFile, SocketPath, StdUnixListener),
}

impl StdListener {
    pub(super) fn unix(path: &SocketPath, takes_over: bool) -> io::Result<Self> {
        let (file, listener) = unix_socket::listen(path, takes_over)?;
        Ok(StdListener::Unix(file, path.clone(), listener))
    }

    /// The address, with the real port.
    pub(super) fn addr(&self) -> io::Result<ListenAddr> {
        Ok(match self {
            StdListener::Tcp(listener) => listener.local_addr()?.into(),
            StdListener::Unix(_, path, _) => ListenAddr::Unix(path.clone()),
        })
    }

    /// Makes the kernel add nothing to the queue. A client that connects from now on is refused; over TCP it learns
    /// so a second later, when its kernel repeats the packet and nobody listens any more.
    pub(super) fn refuse_connects(self) -> Closing {
        match self {
            StdListener::Tcp(listener) => {
                // Without the filter a connection is lost if it comes between the last accept and the close.
                let _ = SockRef::from(&listener).attach_filter(&NO_CONNECTS);
                Closing::Tcp(listener)
            }
            StdListener::Unix(file, _, listener) => {
                drop(file);
                // What is queued can still be accepted.
                let _ = SockRef::from(&listener).shutdown(Shutdown::Read);
                Closing::Unix(listener)
            }
        }
    }
}

/// A listener whose queue is emptied.
pub(super) enum Closing {
    Tcp(StdTcpListener),
    Unix(StdUnixListener),
}

impl Closing {
    /// The next connection in the queue; [`io::ErrorKind::WouldBlock`] if there is none.
    pub(super) fn accept(&self) -> io::Result<Stream> {
        let accepted = match self {
            Closing::Tcp(listener) => StdStream::Tcp(listener.accept()?.0),
            Closing::Unix(listener) => StdStream::Unix(listener.accept()?.0),
        };
        match &accepted {
            StdStream::Tcp(stream) => stream.set_nonblocking(true)?,
            StdStream::Unix(stream) => stream.set_nonblocking(true)?,
        }
        accepted.try_into()
    }
}

/// A listener on the runtime that accepts.
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(SocketFile, SocketPath, UnixListener),
}

impl Listener {
    pub(super) fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<Stream>> {
        Poll::Ready(Ok(match self {
            Listener::Tcp(listener) => Stream::Tcp(ready!(listener.poll_accept(context))?.0),
            Listener::Unix(.., listener) => Stream::Unix(ready!(listener.poll_accept(context))?.0),
        }))
    }

    pub(super) fn into_std(self) -> io::Result<StdListener> {
        Ok(match self {
            Listener::Tcp(listener) => StdListener::Tcp(listener.into_std()?),
            Listener::Unix(file, path, listener) => {
                StdListener::Unix(file, path, listener.into_std()?)
            }
        })
    }
}

impl TryFrom<StdListener> for Listener {
    type Error = io::Error;

    fn try_from(listener: StdListener) -> io::Result<Self> {
        Ok(match listener {
            StdListener::Tcp(listener) => Listener::Tcp(TcpListener::from_std(listener)?),
            StdListener::Unix(file, path, listener) => {
                Listener::Unix(file, path, UnixListener::from_std(listener)?)
            }
        })
    }
}
