//! Addresses for servers that are told where to listen before they start.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::ops::Range;
use std::process;
use std::sync::{Mutex, PoisonError};

/// Below the ports that the system gives to outgoing connections (32768 and up): one of those could take a port before
/// its server binds it.
const PORTS: Range<u16> = 15_000..32_000;

/// UDP sockets with the same port numbers. Binding one reserves the TCP port for this process while it lives.
static CLAIMS: Mutex<Vec<UdpSocket>> = Mutex::new(Vec::new());

/// Returns `count` free addresses on loopback. No address is given twice while the process that got it lives, so
/// threads and processes may start servers side by side. Fails if fewer are free.
pub fn free_addresses(count: usize) -> io::Result<Vec<SocketAddr>> {
    let mut claims = CLAIMS.lock().unwrap_or_else(PoisonError::into_inner);
    // Processes start at different ports, so they rarely try the same ones.
    let begin = process::id() as usize * 100 % PORTS.len();
    let ports = PORTS.cycle().skip(begin).take(PORTS.len());
    let addresses = ports.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let free = addresses.filter(|&address| {
        let claim = UdpSocket::bind(address).ok().filter(|_| TcpListener::bind(address).is_ok());
        let is_free = claim.is_some();
        claims.extend(claim);
        is_free
    });
    let free: Vec<_> = free.take(count).collect();
    if free.len() == count {
        return Ok(free);
    }
    let kind = io::ErrorKind::AddrInUse;
    Err(io::Error::new(kind, format!("only {} of {count} ports are free on 127.0.0.1", free.len())))
}

/// Returns one free address; see [`free_addresses`].
pub fn free_address() -> io::Result<SocketAddr> {
    free_addresses(1).map(|free| free[0])
}
