//! The ways in which threads share connections, over real sockets.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::HashMap;
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use service_kit::testing::{connect, eventually};
use service_kit::{Binding, ListenAddr, Listeners, ServeMode, Threads};
use support::{MODES, Server, ask, names, receive, send, stop_among_clients};
use tokio::sync::Notify;

/// The modes in which a connection belongs to a thread.
const APART: [ServeMode; 2] = [ServeMode::Reuseport, ServeMode::Acceptor];

/// Opens so many connections, from several threads at once; returns how many of them each thread serves.
fn spread(addr: SocketAddr, connections: usize) -> (Vec<TcpStream>, HashMap<String, usize>) {
    let clients: Vec<JoinHandle<Vec<TcpStream>>> = (0..4)
        .map(|_| thread::spawn(move || (0..connections / 4).map(|_| connect(addr)).collect()))
        .collect();
    let mut streams: Vec<TcpStream> =
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
    let mut threads = HashMap::new();
    for stream in &mut streams {
        let answer = ask(stream, "/").unwrap();
        let (_, name) = answer.split_once("\r\n\r\n").unwrap();
        *threads.entry(name.to_owned()).or_default() += 1;
    }
    (streams, threads)
}

#[test]
fn hundreds_of_connections_wait_until_they_are_accepted() {
    let runtime = Threads::default().runtime().unwrap();
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    for mode in MODES {
        let threads = Threads { count: NonZeroU16::MIN, mode };
        let public = Binding { addresses: &[any.into()], variable: "A", takes_over: false };
        let listeners = runtime.block_on(Listeners::bind_for(threads, public, (any, "B")));
        let listeners = listeners.unwrap();
        let addr = listeners.addr().unwrap().parse().unwrap();
        for addr in [addr, listeners.admin_addr().unwrap()] {
            let connect = || TcpStream::connect_timeout(&addr, Duration::from_secs(5)).unwrap();
            let _waiting: Vec<TcpStream> = (0..300).map(|_| connect()).collect();
        }
    }
}

#[test]
fn every_mode_answers_with_one_thread_and_with_several() {
    for mode in MODES {
        for threads in [1, 2, 5] {
            let mut server = Server::on_a_port(mode, threads, 100, names());
            let answer = ask(&mut connect(server.addr()), "/").unwrap();
            assert!(answer.starts_with("HTTP/1.1 200"), "{mode:?} {threads}: {answer}");
            server.stop();
            server.join();
            assert!(TcpStream::connect(server.addr()).is_err(), "{mode:?} {threads}");
        }
    }
}

#[test]
fn threads_have_connections_within_a_fifth_of_each_other() {
    for mode in APART {
        for threads in [2, 4] {
            for connections in [8, 100] {
                let server = Server::on_a_port(mode, threads, 1000, names());
                let (streams, by_thread) = spread(server.addr(), connections);
                assert_eq!(by_thread.len(), usize::from(threads), "{mode:?}: {by_thread:?}");
                let (least, most) =
                    (by_thread.values().min().unwrap(), by_thread.values().max().unwrap());
                assert!(most * 5 <= least * 6, "{mode:?}, {connections}: {by_thread:?}");
                drop(streams);
            }
        }
    }
}

#[test]
fn the_limit_is_exact_across_threads() {
    const LIMIT: usize = 8;
    const CLIENTS: usize = 40;
    for mode in MODES {
        let (inside, release) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
        let (count, wait) = (Arc::clone(&inside), Arc::clone(&release));
        let handler = async move || {
            let released = wait.notified();
            count.fetch_add(1, Ordering::SeqCst);
            released.await;
            "done"
        };
        let server = Server::on_a_port(mode, 3, LIMIT, Router::new().route("/", get(handler)));
        let (addr, turned_away) = (server.addr(), Arc::new(AtomicUsize::new(0)));
        let together = Arc::new(Barrier::new(CLIENTS));
        let clients: Vec<JoinHandle<()>> = (0..CLIENTS)
            .map(|_| {
                let (together, turned_away) = (Arc::clone(&together), Arc::clone(&turned_away));
                thread::spawn(move || {
                    together.wait();
                    let answer = ask(&mut connect(addr), "/").unwrap_or_default();
                    // 503, or nothing: one that takes long to send its request may be closed for another.
                    let is_served = answer.starts_with("HTTP/1.1 200");
                    turned_away.fetch_add((!is_served).into(), Ordering::SeqCst);
                })
            })
            .collect();
        // Those that have a place keep it until all others are answered.
        eventually("all others are turned away", || {
            turned_away.load(Ordering::SeqCst) == CLIENTS - LIMIT
        });
        eventually("all places are in use", || inside.load(Ordering::SeqCst) == LIMIT);
        release.notify_waiters();
        clients.into_iter().for_each(|client| client.join().unwrap());
        assert_eq!(turned_away.load(Ordering::SeqCst), CLIENTS - LIMIT, "{mode:?}");
        assert_eq!(inside.load(Ordering::SeqCst), LIMIT, "{mode:?}: all that were served");
    }
}

/// While the threads cannot accept, connections wait in the listeners' queues, of which the threads learn only
/// after the stop.
#[test]
fn connections_that_wait_in_a_queue_at_a_stop_are_answered() {
    for mode in MODES {
        let entered = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&entered);
        let blocks = async move || {
            count.fetch_add(1, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(700));
            "blocked"
        };
        let routes = names().route("/block", get(blocks));
        let mut server = Server::on_a_port(mode, 2, 1000, routes);
        let mut blockers = [connect(server.addr()), connect(server.addr())];
        for stream in &mut blockers {
            send(stream, "/block").unwrap();
        }
        if mode != ServeMode::Shared {
            eventually("both threads are blocked", || entered.load(Ordering::SeqCst) == 2);
        }
        let mut queued: Vec<TcpStream> = (0..60).map(|_| connect(server.addr())).collect();
        server.stop();
        // They send their requests after the stop.
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
fn a_second_service_cannot_take_the_port_in_any_mode() {
    for mode in MODES {
        let server = Server::on_a_port(mode, 2, 10, names());
        for second in MODES {
            let threads = Threads { count: NonZeroU16::new(2).unwrap(), mode: second };
            let any = "127.0.0.1:0".parse().unwrap();
            let addresses = [ListenAddr::from(server.addr())];
            let public = Binding { addresses: &addresses, variable: "TEST_ADDR", takes_over: true };
            let bound = threads
                .runtime()
                .unwrap()
                .block_on(async { Listeners::bind_for(threads, public, (any, "B")).await });
            let error = bound.err().map(|error| format!("{error:#}"));
            assert!(error.as_ref().is_some_and(|error| error.contains("TEST_ADDR")), "{error:?}");
        }
    }
}

/// Only `make test-all` runs these.
mod nightly {
    use super::*;

    #[test]
    fn no_connection_is_reset_while_clients_connect_during_a_stop() {
        for mode in MODES {
            for _ in 0..4 {
                let server = Server::on_a_port(mode, 2, 1000, names());
                let addr = server.addr();
                stop_among_clients(server, move || TcpStream::connect(addr));
            }
        }
    }
}
