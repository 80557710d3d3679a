//! A service inside the test's process, and clients of it.

#![allow(dead_code, reason = "each test program uses another part")]

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use service_kit::metrics::Connections;
use service_kit::{Admin, Binding, ListenAddr, Listeners, ServeMode, Serving, Threads, Timeouts};
use tokio::sync::oneshot;

pub(crate) const MODES: [ServeMode; 3] =
    [ServeMode::Shared, ServeMode::Reuseport, ServeMode::Acceptor];

/// A service inside this process.
pub(crate) struct Server {
    addresses: Vec<ListenAddr>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn on_a_port(
        mode: ServeMode,
        threads: u16,
        max_connections: usize,
        routes: Router,
    ) -> Self {
        let threads = Threads { count: NonZeroU16::new(threads).unwrap(), mode };
        Self::start(&["127.0.0.1:0".parse().unwrap()], false, threads, max_connections, routes)
    }

    pub(crate) fn start(
        addresses: &[ListenAddr],
        takes_over: bool,
        threads: Threads,
        max_connections: usize,
        routes: Router,
    ) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (started, listens) = std::sync::mpsc::channel();
        let addresses = addresses.to_vec();
        let thread = thread::spawn(move || {
            threads.runtime().unwrap().block_on(async {
                let any = "127.0.0.1:0".parse().unwrap();
                let public = Binding { addresses: &addresses, variable: "A", takes_over };
                let listeners = Listeners::bind_for(threads, public, (any, "B")).await.unwrap();
                started.send(listeners.addr().unwrap()).unwrap();
                let limit = Duration::from_secs(20);
                let serving = Serving {
                    service: "test",
                    timeouts: Timeouts { idle: limit, header: limit, write: limit },
                    max_connections,
                    connections: Connections::default(),
                    shortcut: None,
                    shutdown_delay: Duration::ZERO,
                    drain_timeout: limit,
                };
                let admin = Admin::new(|| Ok("# EOF\n".to_owned()));
                let stopped = async { stopped.await.unwrap_or_default() };
                let served =
                    service_kit::serve(listeners, &serving, routes, admin, stopped, async {});
                served.await.unwrap();
            });
        });
        let addresses =
            listens.recv().unwrap().split(',').map(|addr| addr.parse().unwrap()).collect();
        Server { addresses, stop: Some(stop), thread: Some(thread) }
    }

    /// Its first port.
    pub(crate) fn addr(&self) -> SocketAddr {
        let port = self.addresses.iter().find_map(|addr| match addr {
            ListenAddr::Tcp(addr) => Some(*addr),
            ListenAddr::Unix(_) => None,
        });
        port.unwrap()
    }

    pub(crate) fn stop(&mut self) {
        let _ = self.stop.take().unwrap().send(());
    }

    /// Waits for the end of the drain.
    pub(crate) fn join(&mut self) {
        self.thread.take().unwrap().join().unwrap();
    }
}

/// Answers `/` with the name of the thread that answers.
pub(crate) fn names() -> Router {
    Router::new().route("/", get(async || thread::current().name().unwrap_or("none").to_owned()))
}

pub(crate) fn send(stream: &mut impl Write, path: &str) -> std::io::Result<()> {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes())
}

pub(crate) fn ask(stream: &mut (impl Read + Write), path: &str) -> std::io::Result<String> {
    send(stream, path)?;
    receive(stream)
}

/// Reads a whole answer; the connection stays open.
pub(crate) fn receive(stream: &mut impl Read) -> std::io::Result<String> {
    let mut answer = String::new();
    loop {
        let mut piece = [0; 1024];
        let read = stream.read(&mut piece)?;
        if read == 0 {
            return Err(std::io::Error::other(format!("closed after {answer:?}")));
        }
        answer.push_str(std::str::from_utf8(&piece[..read]).unwrap());
        let length = answer.lines().find_map(|line| line.strip_prefix("content-length: "));
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.len());
        if length.is_some() && length.map(|length| length.parse().unwrap()) == body {
            return Ok(answer);
        }
    }
}

/// Clients that connect for each request, until `ends` or until nobody listens; each returns how many answers it got.
pub(crate) fn clients<S: Read + Write>(
    connect: impl Fn() -> std::io::Result<S> + Clone + Send + 'static,
    ends: &Arc<AtomicBool>,
) -> Vec<JoinHandle<usize>> {
    let client = |_| {
        let (connect, ends) = (connect.clone(), Arc::clone(ends));
        thread::spawn(move || {
            let mut answered = 0;
            while !ends.load(Ordering::SeqCst)
                && let Ok(mut stream) = connect()
            {
                let answer = ask(&mut stream, "/");
                let answer =
                    answer.unwrap_or_else(|error| panic!("after {answered} answers: {error}"));
                assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
                answered += 1;
            }
            answered
        })
    };
    (0..8).map(client).collect()
}

/// The answers of all clients, which have ended or are about to.
pub(crate) fn answers(clients: Vec<JoinHandle<usize>>) -> usize {
    clients.into_iter().map(|client| client.join().unwrap()).sum()
}

/// Stops a server while clients connect all the time: each connection is answered or refused.
pub(crate) fn stop_among_clients<S: Read + Write>(
    mut server: Server,
    connect: impl Fn() -> std::io::Result<S> + Clone + Send + 'static,
) {
    let clients = clients(connect, &Arc::default());
    thread::sleep(Duration::from_millis(100));
    server.stop();
    server.join();
    assert!(answers(clients) > 0);
}
