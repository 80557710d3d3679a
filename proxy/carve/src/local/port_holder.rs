//! Finds the process that holds a port.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use procfs::net::{TcpNetEntry, TcpState, tcp, tcp6};
use procfs::process::{FDTarget, Process, all_processes};

/// A process that listens on a port.
#[derive(Debug)]
pub struct Holder {
    /// Its process id.
    pub pid: i32,
    /// Its command line.
    pub command: String,
    /// Its working directory; `None` if it has just ended.
    pub folder: Option<PathBuf>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({})", self.pid, self.command)
    }
}

/// The process that listens on the port of `address`; `None` if none does, or if it belongs to another user, whose
/// descriptors only root can read.
pub fn find(address: SocketAddr) -> Option<Holder> {
    let sockets: Vec<TcpNetEntry> =
        tcp().into_iter().chain(tcp6()).flatten().filter(|socket| holds(socket, address)).collect();
    let owns = |process: &Process| {
        process.fd().is_ok_and(|descriptors| {
            descriptors.flatten().any(|descriptor| match descriptor.target {
                FDTarget::Socket(inode) => sockets.iter().any(|socket| socket.inode == inode),
                _ => false,
            })
        })
    };
    let process = all_processes().ok()?.flatten().find(owns)?;
    let command = process.cmdline().unwrap_or_default().join(" ");
    let command = command.chars().take(120).collect();
    Some(Holder { pid: process.pid, command, folder: process.cwd().ok() })
}

fn holds(socket: &TcpNetEntry, address: SocketAddr) -> bool {
    let local = socket.local_address;
    socket.state == TcpState::Listen
        && local.port() == address.port()
        && (local.ip() == address.ip()
            || local.ip().is_unspecified()
            || address.ip().is_unspecified())
}
