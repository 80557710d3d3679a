//! Listening on a port or a Unix socket.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, UnixListener};
use tokio_util::either::Either;

use super::socket::Stream;
use crate::{Error, ListenAddr, SocketPath};

/// Length of the kernel's accept queue. The 128 of tokio's `bind` are too few for a burst on a busy machine: the kernel
/// drops further connections, and their clients try again after a second, when nginx has given up. A longer queue would
/// be worse if the service hangs: a proxy gives up sooner when it cannot connect than when its requests wait in the
/// queue.
const BACKLOG: i32 = 1024;
/// Only the user and the group of the service may connect to its Unix socket.
const SOCKET_MODE: u32 = 0o660;
/// The kernel probes a client that has sent nothing for this long, then every `KEEPALIVE_EVERY` until it gives up.
/// Without probes, a connection whose client has vanished stays open for ever.
const KEEPALIVE: Duration = Duration::from_secs(60);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(15);
/// The kernel's send buffer for clients that have a write timeout. By default, Linux buffers megabytes and asks for
/// more only once a third of them has been sent, so a slow reader would look as if it did not read at all.
const SEND_BUFFER_BYTES: usize = 64 * 1024;

/// File descriptors for everything but public connections: the admin listener, the log, the runtime, and the files that
/// `/metrics` reads.
const OTHER_FILES: u64 = super::MAX_ADMIN_CONNECTIONS as u64 + 128;

/// A bound socket. The connections that it accepts inherit its options (tcp(7), socket(7)).
pub struct Listener {
    socket: Either<TcpListener, UnixListener>,
    /// The address, with the real port where port 0 was asked for.
    pub addr: ListenAddr,
}

impl Listener {
    /// Binds `addr`; `variable` is the environment variable that sets it. Call this inside a tokio runtime. Replaces a
    /// Unix socket on which nobody listens. Fails if the address cannot be bound; the error names both.
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

    /// Limits how much the kernel buffers for clients that do not read.
    pub(super) fn bound_send_buffer(&self) {
        let socket = match &self.socket {
            Either::Left(listener) => SockRef::from(listener),
            Either::Right(listener) => SockRef::from(listener),
        };
        // If this fails, slow readers only get more time.
        let _ = socket.set_send_buffer_size(SEND_BUFFER_BYTES);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let ListenAddr::Unix(path) = &self.addr {
            // If this fails, the next start replaces the socket.
            let _ = fs::remove_file(path.path());
        }
    }
}

/// Raises this process' limit of open files as far as allowed. Returns how many connections fit: at least 1, at most
/// `wanted`.
pub fn connections_up_to(wanted: u32) -> u32 {
    let files = u64::from(wanted) + OTHER_FILES;
    let limit = rlimit::increase_nofile_limit(files)
        .or_else(|_| rlimit::Resource::NOFILE.get_soft())
        .unwrap_or(OTHER_FILES);
    u32::try_from(limit.saturating_sub(OTHER_FILES)).unwrap_or(u32::MAX).clamp(1, wanted)
}

/// `[::]` is all addresses, of IPv4 too; without IPv6 in the kernel, of IPv4 alone.
fn listen_tcp(addr: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    match listen_at(addr) {
        Err(error)
            if addr.ip() == Ipv6Addr::UNSPECIFIED
                && !matches!(error.kind(), ErrorKind::AddrInUse | ErrorKind::PermissionDenied) =>
        {
            listen_at((Ipv4Addr::UNSPECIFIED, addr.port()).into())
        }
        listening => listening,
    }
}

fn listen_at(addr: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    socket.set_reuse_address(true)?;
    // Nagle's algorithm would delay small answers.
    socket.set_tcp_nodelay(true)?;
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE_EVERY);
    socket.set_tcp_keepalive(&keepalive)?;
    if addr.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    socket.bind(&addr.into())?;
    socket.listen(BACKLOG)?;
    let listener = TcpListener::from_std(socket.into())?;
    let addr = listener.local_addr()?;
    Ok((listener, addr))
}

/// A killed process leaves its socket's file behind, so a file on which nobody listens is replaced.
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
    // Bound under another name and renamed once its mode is set: a client that finds the path can connect.
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

#[cfg(test)]
mod tests;
