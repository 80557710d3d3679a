//! Slow clients: they hold a connection for as long as nginx lets them, then reconnect.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket, sockopt};
use rustix::process::{Resource, getrlimit};

use crate::servers::allow_all_files;

/// What a client sends first, and whether it then reads. Two fifths dribble a head, two fifths a body, byte by byte; one
/// fifth sends requests and does not read.
const KINDS: [(&str, bool); 5] = [HEAD, BODY, HEAD, BODY, UNREAD];
const HEAD: (&str, bool) = ("GET / HTTP/1.1\r\nHost: slow\r\nX-Slow: ", true);
const BODY: (&str, bool) =
    ("POST /api/links HTTP/1.1\r\nHost: slow\r\nContent-Length: 16000\r\n\r\n{", true);
const UNREAD: (&str, bool) = ("GET /qrcode?text=slow HTTP/1.1\r\nHost: slow\r\n\r\n", false);
const BETWEEN_BYTES: Duration = Duration::from_secs(1);
/// Fewer than nginx admits at once from one address.
const PER_ADDRESS: usize = 2000;

/// Slow clients in a thread.
pub(super) struct SlowClients {
    open: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl SlowClients {
    /// Starts `count` clients, from 127.0.0.2 and the following addresses. Fails if this process may not open so many
    /// connections.
    pub(super) fn start(server: SocketAddr, count: usize) -> anyhow::Result<Self> {
        let wanted = count as u64 + 4096;
        let maximum = getrlimit(Resource::Nofile).maximum;
        ensure!(maximum.is_none_or(|most| most >= wanted), "ulimit -Hn must be {wanted} or more");
        allow_all_files()?;
        let (open, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (counted, told) = (Arc::clone(&open), Arc::clone(&over));
        let mut clients: Vec<Option<TcpStream>> = (0..count).map(|_| None).collect();
        let run = move || {
            while !told.load(Ordering::Relaxed) {
                let began = Instant::now();
                for (number, client) in clients.iter_mut().enumerate() {
                    // If nginx has closed the connection, the client reconnects a second later.
                    *client = match client.take() {
                        Some(stream) => dribble(stream, KINDS[number % 5].1),
                        None => come(server, number).ok(),
                    };
                }
                counted.store(clients.iter().flatten().count(), Ordering::Relaxed);
                thread::sleep(BETWEEN_BYTES.saturating_sub(began.elapsed()));
            }
        };
        let thread = thread::Builder::new().name("slow clients".to_owned());
        let thread = thread.spawn(run).context("no thread for slow clients")?;
        Ok(SlowClients { open, over, thread })
    }

    /// How many connections are open now.
    pub(super) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Closes all connections.
    pub(super) fn stop(self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.thread.join();
    }
}

fn come(server: SocketAddr, number: usize) -> anyhow::Result<TcpStream> {
    let from = Ipv4Addr::new(127, 0, 0, 2 + u8::try_from(number / PER_ADDRESS)?);
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    sockopt::set_socket_recv_buffer_size(&socket, 4096)?;
    bind(&socket, &SocketAddr::from((from, 0)))?;
    connect(&socket, &server)?;
    let mut stream = TcpStream::from(socket);
    stream.set_nonblocking(true)?;
    stream.write_all(KINDS[number % 5].0.as_bytes())?;
    Ok(stream)
}

/// Sends a byte. `None` if nginx has closed the connection.
fn dribble(mut stream: TcpStream, reads: bool) -> Option<TcpStream> {
    let ended = reads
        && match stream.read(&mut [0; 512]) {
            Ok(count) => count == 0,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        };
    // An empty line before a request is allowed (RFC 9112, section 2.2).
    let byte: &[u8] = if reads { b"a" } else { b"\r\n" };
    let sent = stream.write(byte).map_err(|error| error.kind());
    let fails = sent.is_err_and(|kind| kind != ErrorKind::WouldBlock);
    (!ended && !fails).then_some(stream)
}
