//! A Unix socket as a service's public address, alone and beside a port.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::io::Read;
use std::num::NonZeroU16;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use service_kit::testing::{connect, eventually};
use service_kit::{ListenAddr, ServeMode, Threads};
use support::{MODES, Server, answers, ask, clients, names, receive, send, stop_among_clients};
use tempfile::TempDir;

/// The path of a socket in a folder that is removed at the end.
fn socket_in(folder: &TempDir) -> PathBuf {
    folder.path().join("a.sock")
}

fn unix(path: &Path) -> ListenAddr {
    format!("unix:{}", path.display()).parse().unwrap()
}

fn threads(mode: ServeMode, count: u16) -> Threads {
    Threads { count: NonZeroU16::new(count).unwrap(), mode }
}

fn dial(path: &Path) -> UnixStream {
    let stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

#[test]
fn every_mode_serves_a_socket_beside_ports_and_removes_its_file() {
    let folder = TempDir::new().unwrap();
    for mode in MODES {
        for count in [1, 3] {
            let socket = socket_in(&folder);
            let any: ListenAddr = "127.0.0.1:0".parse().unwrap();
            let addresses = [unix(&socket), any.clone(), any];
            let mut server = Server::start(&addresses, false, threads(mode, count), 100, names());
            for _ in 0..2 {
                // Both at once: neither waits for the other.
                let mut local = dial(&socket);
                let mut remote = connect(server.addr());
                for answer in [ask(&mut local, "/").unwrap(), ask(&mut remote, "/").unwrap()] {
                    assert!(answer.starts_with("HTTP/1.1 200"), "{mode:?} {count}: {answer}");
                }
            }
            server.stop();
            server.join();
            assert!(!socket.exists(), "{mode:?} {count}");
        }
    }
}

#[test]
fn connections_over_a_socket_are_spread_over_all_threads() {
    let folder = TempDir::new().unwrap();
    for mode in [ServeMode::Reuseport, ServeMode::Acceptor] {
        let socket = socket_in(&folder);
        let mut server = Server::start(&[unix(&socket)], false, threads(mode, 2), 100, names());
        let mut streams: Vec<_> = (0..8).map(|_| dial(&socket)).collect();
        let on_first =
            |stream: &mut UnixStream| usize::from(ask(stream, "/").unwrap().ends_with("serve-0"));
        let on_first: usize = streams.iter_mut().map(on_first).sum();
        assert_eq!(on_first, 4, "{mode:?}");
        drop(streams);
        server.stop();
        server.join();
    }
}

#[test]
fn the_limit_is_one_for_ports_and_sockets() {
    let folder = TempDir::new().unwrap();
    let socket = socket_in(&folder);
    let addresses = [unix(&socket), "127.0.0.1:0".parse().unwrap()];
    let (entered, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (count, ends) = (Arc::clone(&entered), Arc::clone(&done));
    let waits = async move || {
        count.fetch_add(1, Ordering::SeqCst);
        while !ends.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        "done"
    };
    let routes = Router::new().route("/", get(waits));
    let mut server = Server::start(&addresses, false, threads(ServeMode::Shared, 1), 2, routes);
    let (mut local, mut remote) = (dial(&socket), connect(server.addr()));
    send(&mut local, "/").unwrap();
    send(&mut remote, "/").unwrap();
    eventually("both are served", || entered.load(Ordering::SeqCst) == 2);
    for _ in 0..2 {
        let answer = ask(&mut dial(&socket), "/").unwrap();
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    }
    done.store(true, Ordering::SeqCst);
    assert!(receive(&mut local).unwrap().ends_with("done"));
    assert!(receive(&mut remote).unwrap().ends_with("done"));
    server.stop();
    server.join();
}

/// As on a port: the threads learn of the queue only after the stop.
#[test]
fn connections_that_wait_in_a_socket_s_queue_at_a_stop_are_answered() {
    let folder = TempDir::new().unwrap();
    for mode in MODES {
        let socket = socket_in(&folder);
        let entered = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&entered);
        let blocks = async move || {
            count.fetch_add(1, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(700));
            "blocked"
        };
        let routes = names().route("/block", get(blocks));
        let mut server = Server::start(&[unix(&socket)], false, threads(mode, 1), 1000, routes);
        let mut blocker = dial(&socket);
        send(&mut blocker, "/block").unwrap();
        eventually("the thread is blocked", || entered.load(Ordering::SeqCst) == 1);
        let mut queued: Vec<_> = (0..60).map(|_| dial(&socket)).collect();
        server.stop();
        for stream in &mut queued {
            send(stream, "/").unwrap();
        }
        for (at, stream) in queued.iter_mut().enumerate() {
            let answer = receive(stream).unwrap_or_else(|error| panic!("{mode:?} {at}: {error}"));
            assert!(answer.starts_with("HTTP/1.1 200"), "{mode:?} {at}: {answer}");
        }
        server.join();
    }
}

#[test]
fn no_connection_is_reset_while_clients_connect_during_a_stop() {
    let folder = TempDir::new().unwrap();
    for mode in MODES {
        for _ in 0..4 {
            let socket = socket_in(&folder);
            let server = Server::start(&[unix(&socket)], false, threads(mode, 2), 1000, names());
            stop_among_clients(server, move || UnixStream::connect(&socket));
        }
    }
}

#[test]
fn one_service_takes_over_from_another_and_no_client_is_refused() {
    let folder = TempDir::new().unwrap();
    let socket = socket_in(&folder);
    let start = |takes_over| {
        Server::start(&[unix(&socket)], takes_over, threads(ServeMode::Shared, 1), 1000, names())
    };
    let mut server = start(false);
    let ends = Arc::new(AtomicBool::new(false));
    let connect = {
        let socket = socket.clone();
        move || UnixStream::connect(&socket)
    };
    let clients = clients(connect, &ends);
    for _ in 0..10 {
        thread::sleep(Duration::from_millis(20));
        let mut old = std::mem::replace(&mut server, start(true));
        old.stop();
        old.join();
        assert!(clients.iter().all(|client| !client.is_finished()), "a client was refused");
    }
    ends.store(true, Ordering::SeqCst);
    let answered = answers(clients);
    assert!(answered > 100, "{answered}");
    server.stop();
    server.join();
    assert!(!socket.exists());
}

#[test]
fn a_long_answer_comes_whole_though_its_client_pauses() {
    let folder = TempDir::new().unwrap();
    let socket = socket_in(&folder);
    let routes = Router::new().route("/", get(async || "x".repeat(3_000_000)));
    let mut server =
        Server::start(&[unix(&socket)], false, threads(ServeMode::Shared, 1), 10, routes);
    let mut stream = dial(&socket);
    send(&mut stream, "/").unwrap();
    let (mut read, mut piece) = (0, vec![0; 200_000]);
    while read < 3_000_000 {
        let more = stream.read(&mut piece).unwrap();
        assert!(more > 0, "closed after {read} bytes");
        read += more;
        thread::sleep(Duration::from_millis(1));
    }
    drop(stream);
    server.stop();
    server.join();
}
