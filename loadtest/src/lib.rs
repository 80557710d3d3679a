//! Three programs. `ladder` measures servers in rows, in turn, on their own cores, and writes a table. `chaos` plays faults
//! under load. `load` gives a stack traffic. All send requests at fixed rates by the same clients ([`client`]).

// `load` needs only a part of the clients.
#![cfg_attr(not(feature = "servers"), allow(dead_code, unused_imports))]

pub mod client;
#[cfg(feature = "servers")]
pub mod servers;
pub mod texts;
