//! Addresses for servers that are told where to listen before they start.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// Below the ports that the system gives to outgoing connections (32768 and up), which could take one
/// before its server binds it.
const FIRST: u16 = 15_000;
const COUNT: u16 = 17_000;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// So many free addresses on loopback. A process is never given one twice until all have been, so its
/// threads may start servers side by side; each process begins elsewhere.
///
/// # Errors
/// If too few are free.
pub fn free_addresses(count: usize) -> io::Result<Vec<SocketAddr>> {
    let start = process::id().wrapping_mul(199);
    let ports = (0..COUNT).map(|_| {
        let number = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        FIRST + u16::try_from(number % u32::from(COUNT)).unwrap_or(0)
    });
    let free = ports
        .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        .filter(|&address| TcpListener::bind(address).is_ok());
    let free: Vec<_> = free.take(count).collect();
    if free.len() == count {
        return Ok(free);
    }
    let kind = io::ErrorKind::AddrInUse;
    Err(io::Error::new(kind, format!("only {} of {count} ports are free on 127.0.0.1", free.len())))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::collections::HashSet;
    use std::net::TcpListener;
    use std::thread;

    use super::free_addresses;

    #[test]
    fn threads_are_given_different_addresses_that_can_be_bound() {
        let threads: Vec<_> =
            (0..8).map(|_| thread::spawn(|| free_addresses(100).unwrap())).collect();
        let all: Vec<_> = threads.into_iter().flat_map(|it| it.join().unwrap()).collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 800);
        let _held: Vec<_> = all.iter().map(|at| TcpListener::bind(at).unwrap()).collect();
    }

    #[test]
    fn an_address_in_use_is_not_given() {
        let [held] = free_addresses(1).unwrap()[..] else { panic!() };
        let _held = TcpListener::bind(held).unwrap();
        assert!(!free_addresses(200).unwrap().contains(&held));
    }
}
