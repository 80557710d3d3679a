//! A stop and a client that has just connected: it could not know of the stop, so its first request is answered.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{Read, Write};
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use service_kit::testing::connect;
use service_kit::{Admin, ListenAddr, Listener, Serving};
use tokio::sync::oneshot;

#[test]
fn a_request_that_is_on_its_way_at_a_stop_is_answered() {
    let serving = Serving::near(10);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let bind = |name| Listener::bind("127.0.0.1:0".parse::<std::net::SocketAddr>().unwrap(), name);
    let (public, admin) = runtime.block_on(async { (bind("A").unwrap(), bind("B").unwrap()) });
    let ListenAddr::Tcp(addr) = public.addr else { panic!("no port") };
    let server = thread::spawn(move || {
        let routes = Router::new().route("/", get(async || "hello"));
        let health = Admin::new(|| Ok("# EOF\n".to_owned()));
        let stopped = async { stopped.await.unwrap_or_default() };
        let listeners = (vec![public], admin);
        runtime
            .block_on(service_kit::serve(listeners, &serving, routes, health, stopped, async {}));
    });
    let mut client = connect(addr);
    stop.send(()).unwrap();
    // As long as a request takes from another continent; the service waits ten times as long for it.
    thread::sleep(Duration::from_millis(100));
    client.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("hello"), "{answer}");
    server.join().unwrap();
}
