//! The addresses of the sides' names.
//!
//! nginx looks names up only when it reads its files, and treats each address as a server that runs. So carve writes
//! addresses into nginx' files, and [`super::apply::keep`] looks the names up again.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use route::SideUrl;

/// The addresses of each HOST:PORT whose HOST is a name.
pub(crate) type Names = BTreeMap<String, Vec<SocketAddr>>;

/// Ports of this machine answer or refuse at once.
const ANSWERS_WITHIN: Duration = Duration::from_secs(1);

/// Looks up the names among the URLs. Leaves out names that DNS does not answer.
pub(crate) fn lookup<'a>(urls: impl Iterator<Item = &'a SideUrl>) -> Names {
    let authorities = urls.filter_map(SideUrl::tcp).map(|url| url.authority());
    let named = authorities.filter(|it| it.parse::<SocketAddr>().is_err());
    let found = named.filter_map(|authority| {
        let mut addresses: Vec<SocketAddr> = authority.to_socket_addrs().ok()?.collect();
        addresses.sort();
        addresses.dedup();
        (!addresses.is_empty()).then(|| (authority.to_owned(), addresses))
    });
    found.collect()
}

/// Removes addresses of `localhost` and other loopback names where nothing listens, unless nothing listens at any: an
/// app that listens at 127.0.0.1 alone is not at ::1. Keeps all addresses of other names, whose servers may be down for
/// a while.
pub(crate) fn that_answer(mut names: Names) -> Names {
    let is_here = |address: &SocketAddr| address.ip().is_loopback();
    for addresses in names.values_mut().filter(|it| it.iter().all(is_here) && it.len() > 1) {
        let there: Vec<SocketAddr> = addresses.iter().copied().filter(answers).collect();
        if !there.is_empty() {
            *addresses = there;
        }
    }
    names
}

/// Whether a server listens at each address.
pub(crate) fn all_answer(names: &Names) -> bool {
    names.values().flatten().all(answers)
}

fn answers(address: &SocketAddr) -> bool {
    TcpStream::connect_timeout(address, ANSWERS_WITHIN).is_ok()
}
