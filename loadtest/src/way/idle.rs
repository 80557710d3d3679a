//! What connections cost that wait for a next request: memory of nginx and of qr-service.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use stack::{Options, Part};

use super::clients::ask;
use crate::sampling::memory;
use crate::server::{Cores, start_stack};
use crate::texts::QRCODE;

/// Connections of the warm-up.
const FEW: usize = 16;
/// After this, both keep no more for a connection than until its next request.
const SETTLED: Duration = Duration::from_secs(2);

/// Memory of a part (PSS, in bytes) while few connections are open, and for each one more.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Idle {
    /// nginx or qr-service.
    pub part: String,
    /// With few connections.
    pub few: u64,
    /// For each connection that has had an answer and waits.
    pub each: f64,
}

/// Opens so many connections to nginx, then to qr-service, with one request of `/qrcode` on each.
///
/// # Errors
/// If the stack does not start, or an answer is not 200.
pub fn idle(connections: usize) -> anyhow::Result<[Idle; 2]> {
    let stack = start_stack(&Options::default(), &Cores::all())?;
    let addresses = &stack.settings().addresses;
    let measure = |part: Part, addr: SocketAddr| {
        let root = [stack.pid_of(part)?.as_raw_nonzero().get()];
        // One after the other: nginx takes 256 connections to a side for 256 requests at once.
        let ask_one_by_one = |connections| {
            (0..connections)
                .map(|_| ask(addr, 1, 1, (QRCODE, "")))
                .collect::<anyhow::Result<Vec<_>>>()
        };
        let settled = |_open: Vec<_>| {
            thread::sleep(SETTLED);
            memory(&root).pss_bytes
        };
        let few = settled(ask_one_by_one(FEW)?);
        let many = settled(ask_one_by_one(FEW + connections)?);
        let each = many.saturating_sub(few) as f64 / connections as f64;
        anyhow::Ok(Idle { part: part.name().to_owned(), few, each })
    };
    Ok([measure(Part::Nginx, addresses.proxy)?, measure(Part::QrService, addresses.new)?])
}
