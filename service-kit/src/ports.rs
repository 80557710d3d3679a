//! Addresses for servers that are told where to listen before they start.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::process;
use std::sync::{Mutex, PoisonError};

/// Below the ports that the system gives to outgoing connections (32768 and up), which could take one
/// before its server binds it.
const FIRST: u16 = 15_000;
/// Ports come in blocks.
const BLOCK: u16 = 100;
const BLOCKS: u16 = 170;

/// Blocks that are this process's for as long as it lives, and those of their ports that nobody was given.
static CLAIMED: Mutex<Claimed> = Mutex::new(Claimed { by: Vec::new(), ports: 0..0 });

struct Claimed {
    /// The first port of each block. A process that can bind it has the others to itself.
    by: Vec<TcpListener>,
    ports: Range<u16>,
}

/// So many free addresses on loopback. None is given twice, to this process or to another one that lives, so threads
/// and processes may start servers side by side.
///
/// # Errors
/// If too few are free.
pub fn free_addresses(count: usize) -> io::Result<Vec<SocketAddr>> {
    let mut claimed = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
    let free = std::iter::from_fn(|| claimed.next()).filter(|&address| bind(address).is_some());
    let free: Vec<_> = free.take(count).collect();
    if free.len() == count {
        return Ok(free);
    }
    let kind = io::ErrorKind::AddrInUse;
    Err(io::Error::new(kind, format!("only {} of {count} ports are free on 127.0.0.1", free.len())))
}

/// One free address, as [`free_addresses`] gives them.
///
/// # Errors
/// If none is free.
pub fn free_address() -> io::Result<SocketAddr> {
    free_addresses(1).map(|free| free[0])
}

fn bind(address: SocketAddr) -> Option<TcpListener> {
    TcpListener::bind(address).ok()
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

impl Claimed {
    /// The next port's address, if need be of another block.
    fn next(&mut self) -> Option<SocketAddr> {
        if let Some(port) = self.ports.next() {
            return Some(loopback(port));
        }
        // Processes begin in different places, so that few look for a block that is free.
        let start = process::id() % u32::from(BLOCKS);
        let mut firsts = (0..BLOCKS)
            .map(|number| FIRST + (u16::try_from(start).unwrap_or(0) + number) % BLOCKS * BLOCK);
        let (first, by) = firsts.find_map(|first| Some((first, bind(loopback(first))?)))?;
        self.by.push(by);
        self.ports = first + 1..first + BLOCK;
        self.ports.next().map(loopback)
    }
}
