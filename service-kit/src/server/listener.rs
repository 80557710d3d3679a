//! Listening on a port or a Unix socket.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, UnixListener};
use tokio_util::either::Either;

use super::socket::Stream;
use crate::{Error, ListenAddr, SocketPath};

/// Connections that the kernel accepts before the service does. The 128 of tokio's `bind` are one burst while the
/// machine is busy: the kernel drops the next ones, and their clients try again after a second, when nginx has given
/// up. If the service hangs, a proxy cannot connect once the queue is full, and gives up sooner than with all of its
/// requests in a longer one.
const BACKLOG: i32 = 1024;
/// The user and the group of the service may connect to its Unix socket.
const SOCKET_MODE: u32 = 0o660;
/// A client that sends nothing for so long is asked by the kernel whether it is there, as often as that until it is
/// given up. Without it, a connection whose client has vanished is open for ever.
const KEEPALIVE: Duration = Duration::from_secs(60);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(15);
/// Bytes that the kernel takes for a client that has a timeout for reading. Linux would take megabytes, and would ask
/// for more only after a third of them, so that a slow reader would look as if it did not read.
const SEND_BUFFER_BYTES: usize = 64 * 1024;

/// Files besides the public listener's connections: those of the admin listener, the log, the runtime, and what
/// `/metrics` reads.
const OTHER_FILES: u64 = super::MAX_ADMIN_CONNECTIONS as u64 + 128;

/// A bound socket. What is set on it holds for the connections that it accepts (tcp(7), socket(7)).
pub struct Listener {
    socket: Either<TcpListener, UnixListener>,
    /// The address, with the real port where port 0 was asked for.
    pub addr: ListenAddr,
}

impl Listener {
    /// Binds an address, which comes with the name of the variable that sets it. Call it on the runtime. Fails if the
    /// address cannot be bound; the error names it and its variable. A Unix socket is replaced if nobody listens
    /// there.
    pub fn bind(addr: impl Into<ListenAddr>, variable: &'static str) -> Result<Self, Error> {
        let mut addr = addr.into();
        let bound = match &addr {
            ListenAddr::Tcp(tcp) => listen_tcp(*tcp).map(|(socket, real)| {
                addr = real.into();
                Either::Left(socket)
            }),
            ListenAddr::Unix(path) => listen_unix(path).map(Either::Right),
        };
        match bound {
            Ok(socket) => Ok(Listener { socket, addr }),
            Err(source) => Err(Error::Listen { addr, variable, source }),
        }
    }

    pub(super) async fn accept(&self) -> io::Result<Stream> {
        Ok(match &self.socket {
            Either::Left(listener) => Stream::Left(listener.accept().await?.0),
            Either::Right(listener) => Stream::Right(listener.accept().await?.0),
        })
    }

    /// Bounds what the kernel takes for clients that do not read.
    pub(super) fn bound_send_buffer(&self) {
        let socket = match &self.socket {
            Either::Left(listener) => SockRef::from(listener),
            Either::Right(listener) => SockRef::from(listener),
        };
        // Without it, slow readers only have more time.
        let _ = socket.set_send_buffer_size(SEND_BUFFER_BYTES);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let ListenAddr::Unix(path) = &self.addr {
            // If this fails, the next start finds a socket without a listener.
            let _ = fs::remove_file(path.path());
        }
    }
}

/// As many connections as can be open at once, `wanted` at most. Raises this process' limit of open files
/// as far as it may.
pub fn connections_up_to(wanted: u32) -> u32 {
    let files = u64::from(wanted) + OTHER_FILES;
    // If it cannot be raised, it stays as it is.
    let limit = rlimit::increase_nofile_limit(files).unwrap_or(OTHER_FILES);
    u32::try_from(limit.saturating_sub(OTHER_FILES)).unwrap_or(u32::MAX).clamp(1, wanted)
}

fn listen_tcp(addr: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    socket.set_reuse_address(true)?;
    // Nagle's algorithm would delay small answers.
    socket.set_tcp_nodelay(true)?;
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE_EVERY);
    socket.set_tcp_keepalive(&keepalive)?;
    socket.bind(&addr.into())?;
    socket.listen(BACKLOG)?;
    let listener = TcpListener::from_std(socket.into())?;
    let addr = listener.local_addr()?;
    Ok((listener, addr))
}

/// A socket's file outlives a process that is killed, so a file where nobody listens is replaced.
fn listen_unix(at: &SocketPath) -> io::Result<UnixListener> {
    let path = at.path();
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
        Ok(file) if !file.file_type().is_socket() => {
            let what = "there is a file that is no socket";
            return Err(io::Error::new(ErrorKind::AlreadyExists, what));
        }
        Ok(_) => match StdUnixStream::connect(path) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
            Err(error) => return Err(error),
            Ok(_) => {
                let what = "another process listens there";
                return Err(io::Error::new(ErrorKind::AddrInUse, what));
            }
        },
    }
    // Bound under another name, and renamed once it has its mode: whoever finds the path can connect.
    let fresh = PathBuf::from(format!("{}~", path.display()));
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(&fresh)?;
    fs::set_permissions(&fresh, Permissions::from_mode(SOCKET_MODE))?;
    fs::rename(&fresh, path)?;
    Ok(listener)
}
