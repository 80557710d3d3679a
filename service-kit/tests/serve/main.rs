//! A service on real sockets: limits, timeouts and shutdown.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod admin;
mod early;

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::HttpBody as _;
use axum::body::{Body, Bytes};
use axum::routing::get;
use http_body_util::BodyExt as _;
use prometheus_client::registry::Registry;
use service_kit::metrics::{Connections, encode};
use service_kit::testing::{connect, eventually, exchange};
use service_kit::{Admin, ClientEnd, ListenAddr, Listener, Protocol, Serving};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::{Notify, oneshot};

/// A service inside this process.
struct Server {
    addresses: Vec<ListenAddr>,
    metrics: Connections,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The settings of each service, unless a test changes them.
fn serving() -> Serving {
    let limit = Duration::from_secs(20);
    let near = Serving::near(1000);
    Serving { idle_timeout: limit, write_timeout: Some(limit), drain_timeout: limit, ..near }
}

fn start(serving: Serving, routes: Router) -> Server {
    start_on(&["127.0.0.1:0".parse().unwrap()], serving, routes)
}

fn start_on(addresses: &[ListenAddr], serving: Serving, routes: Router) -> Server {
    let (stop, stopped) = oneshot::channel();
    let (started, listens) = std::sync::mpsc::channel();
    let (addresses, metrics) = (addresses.to_vec(), serving.connections.clone());
    let thread = thread::spawn(move || {
        runtime().block_on(async {
            let bind = |addr| Listener::bind(addr, "A").unwrap();
            let public: Vec<_> = addresses.into_iter().map(bind).collect();
            started.send(public.iter().map(|it| it.addr.clone()).collect()).unwrap();
            let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
            let listeners = (public, Listener::bind(any, "B").unwrap());
            let admin = Admin::new(|| Ok("# EOF\n".to_owned()));
            let stopped = async { stopped.await.unwrap_or_default() };
            service_kit::serve(listeners, &serving, routes, admin, stopped, async {}).await;
        });
    });
    let addresses = listens.recv().unwrap();
    Server { addresses, metrics, stop: Some(stop), thread: Some(thread) }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

impl Server {
    /// Its first port.
    fn addr(&self) -> SocketAddr {
        let port = self.addresses.iter().find_map(|addr| match addr {
            ListenAddr::Tcp(addr) => Some(*addr),
            ListenAddr::Unix(_) => None,
        });
        port.unwrap()
    }

    fn stop(&mut self) {
        let _ = self.stop.take().unwrap().send(());
    }

    /// Waits for the end of the drain.
    fn join(&mut self) {
        self.thread.take().unwrap().join().unwrap();
    }

    fn metric(&self, name: &str) -> u64 {
        let mut registry = Registry::default();
        self.metrics.register(&mut registry);
        let text = encode(&registry).unwrap();
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("{name} in\n{text}")).parse().unwrap()
    }
}

fn hello() -> Router {
    Router::new().route("/", get(async || "hello"))
}

/// Routes whose requests wait until they are released, with the number of requests that have come.
fn waiting() -> (Router, Arc<AtomicUsize>, Arc<Notify>) {
    let (inside, release) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let (count, wait) = (Arc::clone(&inside), Arc::clone(&release));
    let handler = async move || {
        let released = wait.notified();
        count.fetch_add(1, Ordering::SeqCst);
        released.await;
        "done"
    };
    (Router::new().route("/", get(handler)), inside, release)
}

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";

fn ask(stream: &mut (impl Read + Write)) -> std::io::Result<String> {
    stream.write_all(REQUEST)?;
    receive(stream)
}

/// Reads a short answer; the connection stays open.
fn receive(stream: &mut impl Read) -> std::io::Result<String> {
    let mut answer = String::new();
    loop {
        let mut piece = [0; 1024];
        let read = stream.read(&mut piece)?;
        if read == 0 {
            return Err(std::io::Error::other(format!("closed after {answer:?}")));
        }
        answer.push_str(std::str::from_utf8(&piece[..read]).unwrap());
        let Some((head, body)) = answer.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() == length.unwrap().parse::<usize>().unwrap() {
            return Ok(answer);
        }
    }
}

/// Reads until the server closes. Returns whether it did so by a reset.
fn ends_by_reset(stream: &mut TcpStream) -> bool {
    let ended = stream.read_to_end(&mut Vec::new());
    ended.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset)
}

fn reason(error: &service_kit::Error) -> String {
    std::error::Error::source(error).unwrap().to_string()
}

fn unix(path: &Path) -> ListenAddr {
    format!("unix:{}", path.display()).parse().unwrap()
}

#[test]
fn hundreds_of_connections_wait_until_they_are_accepted() {
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let runtime = runtime();
    let listener = runtime.block_on(async { Listener::bind(any, "A") }).unwrap();
    let ListenAddr::Tcp(addr) = listener.addr else { panic!() };
    let connect = || TcpStream::connect_timeout(&addr, Duration::from_secs(5)).unwrap();
    let _waiting: Vec<TcpStream> = (0..300).map(|_| connect()).collect();
}

#[test]
fn an_address_that_cannot_be_bound_is_named_with_its_variable() {
    let server = start(serving(), hello());
    let bound = runtime().block_on(async { Listener::bind(server.addr(), "TEST_ADDR").err() });
    let error = bound.unwrap();
    assert_eq!(error.to_string(), format!("cannot listen on {} (TEST_ADDR)", server.addr()));
    assert!(reason(&error).starts_with("Address already in use"), "{error:?}");
}

/// Only a kernel without IPv6 has all addresses of IPv4 instead.
#[test]
fn all_addresses_are_refused_if_a_program_has_the_port_on_one() {
    let Ok(held) = std::net::TcpListener::bind("[::1]:0") else { return };
    let all = SocketAddr::new("::".parse().unwrap(), held.local_addr().unwrap().port());
    // An address of nobody's, for documents (RFC 5737).
    for addr in [all, "192.0.2.1:0".parse().unwrap()] {
        let error = runtime().block_on(async { Listener::bind(addr, "A").err() });
        assert!(error.is_some_and(|it| it.to_string().contains(&addr.to_string())), "{addr}");
    }
}

#[test]
fn at_the_limit_idle_connections_go_and_busy_ones_are_waited_for() {
    let (routes, inside, release) = waiting();
    let server = start(Serving { max_connections: 2, ..serving() }, routes);
    let (mut busy, mut idle) = (connect(server.addr()), connect(server.addr()));
    busy.write_all(REQUEST).unwrap();
    eventually("one is served", || inside.load(Ordering::SeqCst) == 1);
    idle.write_all(b"G").unwrap();
    eventually("both are open", || server.metric("http_connections_open") == 2);

    let mut second = connect(server.addr());
    second.write_all(REQUEST).unwrap();
    eventually("it has the idle one's place", || inside.load(Ordering::SeqCst) == 2);
    assert!(receive(&mut idle).is_err(), "closed");
    assert_eq!(server.metric("http_connections_shed_total"), 1);

    let mut third = connect(server.addr());
    third.write_all(REQUEST).unwrap();
    eventually("it waits", || server.metric("http_connections_limited_total") == 2);
    thread::sleep(Duration::from_millis(300));
    assert_eq!(inside.load(Ordering::SeqCst), 2, "no request is given up for it");
    release.notify_waiters();
    assert!(receive(&mut busy).unwrap().ends_with("done"));
    assert!(receive(&mut second).unwrap().ends_with("done"));
    eventually("the third is served", || inside.load(Ordering::SeqCst) == 3);
    release.notify_waiters();
    assert!(receive(&mut third).unwrap().ends_with("done"));
}

/// Over HTTP/2, and before a client has shown which version it speaks, hyper has no timeout.
#[test]
fn a_client_that_sends_no_request_is_disconnected_whatever_it_has_sent() {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
    let idle_timeout = Duration::from_millis(500);
    let serving = Serving { idle_timeout, protocol: Protocol::Http1And2, ..serving() };
    let server = start(serving, hello());
    let beginnings: [&[u8]; 5] = [b"", b"G", b"PRI", PREFACE, &[PREFACE, SETTINGS].concat()];
    for beginning in beginnings {
        let began = Instant::now();
        let mut stream = connect(server.addr());
        stream.write_all(beginning).unwrap();
        ends_by_reset(&mut stream);
        assert!(began.elapsed() > Duration::from_millis(400), "{beginning:?}");
    }
    // Between requests, the time begins anew.
    let mut stream = connect(server.addr());
    for _ in 0..3 {
        assert!(ask(&mut stream).unwrap().ends_with("hello"));
        thread::sleep(Duration::from_millis(300));
    }
    ends_by_reset(&mut stream);
    assert_eq!(server.metric("http_connections_timed_out_total{phase=\"idle\"}"), 6);
    eventually("all are closed", || server.metric("http_connections_open") == 0);
}

#[test]
fn a_request_may_take_longer_than_a_client_may_be_idle() {
    let idle_timeout = Duration::from_millis(300);
    let (routes, inside, release) = waiting();
    let server = start(Serving { idle_timeout, ..serving() }, routes);
    let mut stream = connect(server.addr());
    stream.write_all(REQUEST).unwrap();
    eventually("it is served", || inside.load(Ordering::SeqCst) == 1);
    thread::sleep(Duration::from_millis(900));
    release.notify_waiters();
    assert!(receive(&mut stream).unwrap().ends_with("done"));
}

#[test]
fn a_client_that_does_not_read_is_disconnected() {
    let write_timeout = Some(Duration::from_millis(500));
    let routes = Router::new().route("/", get(async || vec![b'x'; 20_000_000]));
    let server = start(Serving { write_timeout, ..serving() }, routes);
    let mut stream = connect(server.addr());
    stream.write_all(REQUEST).unwrap();
    let timed_out = "http_connections_timed_out_total{phase=\"write\"}";
    eventually("it is closed", || server.metric(timed_out) == 1);
    eventually("nothing is left", || {
        server.metric("http_connections_open") + server.metric("http_requests_in_flight") == 0
    });
}

/// In HTTP/1.0 the end of the connection ends the answer.
#[test]
fn an_answer_that_breaks_off_ends_with_a_reset() {
    let breaks = async || {
        let pieces = [Ok(Bytes::from_static(b"some")), Err(std::io::Error::other("broken"))];
        Body::from_stream(futures_util::stream::iter(pieces))
    };
    let server = start(serving(), Router::new().route("/", get(breaks)));
    let mut stream = connect(server.addr());
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    assert!(ends_by_reset(&mut stream));
    eventually("it is closed", || server.metric("http_connections_open") == 0);
    assert_eq!(server.metric("http_connections_timed_out_total{phase=\"write\"}"), 0);
}

#[test]
fn a_request_may_wait_until_its_client_has_closed_its_direction() {
    let waits = async |axum::Extension(end): axum::Extension<ClientEnd>| {
        end.hold().came().await;
        "it has"
    };
    let routes = Router::new().route("/", get(waits));
    let server = start(Serving { half_close: false, ..serving() }, routes);
    let mut stream = connect(server.addr());
    stream.write_all(REQUEST).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!(receive(&mut stream).is_err(), "it waits");
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(receive(&mut stream).unwrap().ends_with("it has"));
}

#[test]
fn a_route_knows_how_long_a_body_is_and_a_body_that_was_read_keeps_its_connection() {
    let sizes = async |request: axum::extract::Request| {
        let mut body = request.into_body();
        let told = format!("{:?} {}", body.size_hint().exact(), body.is_end_stream());
        // Does not look for the end after the last byte.
        let frame = body.frame().await;
        format!("{told} {}", frame.is_some())
    };
    let server = start(serving(), Router::new().route("/", axum::routing::any(sizes)));
    let mut stream = connect(server.addr());
    for (request, told) in [
        ("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhello", "Some(5) false true"),
        ("GET / HTTP/1.1\r\nhost: x\r\n\r\n", "Some(0) true false"),
    ] {
        stream.write_all(request.as_bytes()).unwrap();
        let answer = receive(&mut stream).unwrap();
        assert!(answer.ends_with(&format!("\r\n\r\n{told}")), "{answer}");
        assert!(!answer.contains("connection: close"), "{answer}");
    }
}

#[test]
fn a_client_that_has_closed_its_direction_gets_its_answer_if_it_may() {
    for half_close in [true, false] {
        let (routes, inside, release) = waiting();
        let server = start(Serving { half_close, ..serving() }, routes);
        let mut stream = connect(server.addr());
        stream.write_all(REQUEST).unwrap();
        eventually("it is served", || inside.load(Ordering::SeqCst) == 1);
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        thread::sleep(Duration::from_millis(300));
        let in_flight = server.metric("http_requests_in_flight");
        assert_eq!(in_flight, u64::from(half_close), "otherwise it is given up");
        release.notify_waiters();
        assert_eq!(receive(&mut stream).is_ok(), half_close);
    }
}

/// While the threads are busy, connections wait in the listener's queue. The service accepts them only after the stop.
#[test]
fn connections_that_wait_in_a_queue_at_a_stop_are_answered() {
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("a.sock");
    let entered = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&entered);
    let blocks = async move || {
        count.fetch_add(1, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(700));
        "blocked"
    };
    let addresses = [unix(&socket), "127.0.0.1:0".parse().unwrap()];
    let routes = hello().route("/block", get(blocks));
    let mut server = start_on(&addresses, serving(), routes);
    let mut blockers = [connect(server.addr()), connect(server.addr())];
    for stream in &mut blockers {
        stream.write_all(b"GET /block HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    }
    eventually("both threads are blocked", || entered.load(Ordering::SeqCst) == 2);
    let mut queued: Vec<_> = (0..60).map(|_| connect(server.addr())).collect();
    let mut local: Vec<_> = (0..60).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    server.stop();
    // All clients send before any answer is awaited: each has a second to send its request.
    queued.iter_mut().for_each(|stream| stream.write_all(REQUEST).unwrap());
    local.iter_mut().for_each(|stream| stream.write_all(REQUEST).unwrap());
    for at in 0..60 {
        for answer in [receive(&mut queued[at]), receive(&mut local[at])] {
            let answer = answer.unwrap_or_else(|error| panic!("{at}: {error}"));
            assert!(answer.starts_with("HTTP/1.1 200"), "{at}: {answer}");
        }
    }
    server.join();
    assert!(!socket.exists());
    assert!(TcpStream::connect(server.addr()).is_err());
}

/// It could not know of the stop, and a request from another continent takes a tenth of the second that it is given.
#[test]
fn a_request_that_is_on_its_way_at_a_stop_is_answered() {
    let mut server = start(serving(), hello());
    let (mut stream, mut kept) = (connect(server.addr()), connect(server.addr()));
    assert!(ask(&mut kept).unwrap().ends_with("hello"));
    // However long it has been connected.
    thread::sleep(Duration::from_millis(1100));
    server.stop();
    thread::sleep(Duration::from_millis(100));
    assert!(ask(&mut stream).unwrap().ends_with("hello"));
    server.join();
    // One that has had a request is told to end, and needs no time limit.
    assert!(receive(&mut kept).is_err());
    assert_eq!(server.metric("http_connections_timed_out_total{phase=\"idle\"}"), 0);
}

#[test]
fn a_socket_s_file_has_its_mode_and_what_is_in_use_is_not_replaced() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.sock");
    let runtime = runtime();
    let bind = || runtime.block_on(async { Listener::bind(unix(&path), "A") });
    // A killed process leaves such a socket.
    drop(UnixListener::bind(&path).unwrap());
    let listener = bind().unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o660);
    UnixStream::connect(&path).unwrap();
    assert_eq!(reason(&bind().err().unwrap()), "another process listens there");
    drop(listener);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);

    // What is in the way of the name under which it is bound stays, too.
    let fresh = folder.path().join("a.sock~");
    std::fs::create_dir(&fresh).unwrap();
    assert!(bind().is_err());
    assert!(fresh.is_dir());

    std::fs::write(&path, "mine").unwrap();
    assert_eq!(reason(&bind().err().unwrap()), "there is a file that is no socket");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn services_near_their_proxy_have_these_limits() {
    let (near, seconds) = (Serving::near(7), Duration::from_secs);
    assert_eq!((near.idle_timeout, near.write_timeout), (seconds(75), Some(seconds(10))));
    assert_eq!((near.shutdown_delay, near.drain_timeout), (Duration::ZERO, seconds(10)));
    assert!(near.half_close && near.max_connections == 7);
    assert_eq!(service_kit::connections_up_to(10), 10);
    assert!((10..u32::MAX).contains(&service_kit::connections_up_to(u32::MAX)));
}

#[test]
fn a_head_has_at_most_16_kib_and_one_host() {
    let server = start(serving(), hello());
    let padded = |bytes| format!("host: x\r\nx: {}\r\n", "a".repeat(bytes));
    for (headers, status) in [
        ("host: x\r\n".to_owned(), 200),
        (String::new(), 400),
        ("host: x\r\nhost: x\r\n".to_owned(), 400),
        (padded(15_000), 200),
        (padded(17_000), 431),
    ] {
        let request = format!("GET / HTTP/1.1\r\n{headers}connection: close\r\n\r\n");
        let answer = exchange(server.addr(), &request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
}
