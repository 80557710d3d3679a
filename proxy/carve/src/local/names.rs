//! The addresses of the sides' names.
//!
//! nginx looks names up once, when it reads its files, and takes each address for a server that is there. So it gets
//! addresses, and [`super::apply::keep`] looks them up again.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use route::SideUrl;

/// The addresses of each HOST:PORT that has a name.
pub(crate) type Names = BTreeMap<String, Vec<SocketAddr>>;

/// A port of this machine answers or refuses at once.
const ANSWERS_WITHIN: Duration = Duration::from_secs(1);

/// Looks the names up. Those without an answer are left out.
pub(crate) fn lookup<'a>(urls: impl Iterator<Item = &'a SideUrl>) -> Names {
    let named = urls.filter_map(SideUrl::tcp).map(|url| url.authority()).filter(|authority| {
        let host = authority.rsplit_once(':').map_or(*authority, |(host, _)| host);
        host.trim_matches(['[', ']']).parse::<IpAddr>().is_err()
    });
    let found = named.filter_map(|authority| {
        let mut addresses: Vec<SocketAddr> = authority.to_socket_addrs().ok()?.collect();
        addresses.sort();
        addresses.dedup();
        (!addresses.is_empty()).then(|| (authority.to_owned(), addresses))
    });
    found.collect()
}

/// Of `localhost` and other names of this machine, only the addresses where something listens, if any does: an app that
/// listens at 127.0.0.1 alone is not at ::1. The servers of other names may be down for a while, and stay.
pub(crate) fn that_answer(mut names: Names) -> Names {
    let answers =
        |address: &SocketAddr| TcpStream::connect_timeout(address, ANSWERS_WITHIN).is_ok();
    for addresses in names.values_mut() {
        let is_here = addresses.iter().all(|address| address.ip().is_loopback());
        let there: Vec<SocketAddr> = match is_here && addresses.len() > 1 {
            true => addresses.iter().copied().filter(answers).collect(),
            false => Vec::new(),
        };
        if !there.is_empty() {
            *addresses = there;
        }
    }
    names
}
