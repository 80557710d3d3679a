//! Runs the contract suite against a real stack: against each side alone, and against the proxy at several splits.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use carve::local::Share;
use contract::{Options, Target, case, run};

/// Options by which the answer must name one of these servers.
fn by(names: &[&str]) -> Options {
    let served_by = names.iter().map(|&name| name.to_owned()).collect();
    Options { served_by, ..Options::default() }
}

fn check(base: &str, options: &Options) {
    let cases = case::all().unwrap();
    let report = run(&Target::new(base).unwrap(), &cases, options);
    assert_eq!(report.counts(), (cases.len(), 0), "{report}");
}

#[test]
fn the_contract_holds_for_the_old_side_and_at_half_and_a_stranger_is_noticed() {
    let stack = support::start(|it| it.split = Some(Share::percent(50).unwrap()));
    check(&format!("http://{}", stack.settings().addresses.of("old")), &by(&["legacy-node"]));
    check(&stack.url(), &by(&["qr-service", "legacy-node"]));
    // Each case checks who serves, so a few cases are enough.
    let cases = &case::all().unwrap()[..5];
    for name in [None, Some("somebody-else")] {
        let stranger = format!("http://{}", stranger(stack.settings().addresses.of("new"), name));
        let stranger = Target::new(&stranger).unwrap();
        assert_eq!(run(&stranger, cases, &Options::default()).counts(), (cases.len(), 0));
        let asked = run(&stranger, cases, &by(&["qr-service"]));
        assert_eq!(asked.counts().1, cases.len(), "{name:?} is not qr-service: {asked}");
    }
}

/// A server that gives the same answers as the one at `addr`, but with another name or none.
fn stranger(addr: SocketAddr, name: Option<&'static str>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = listener.local_addr().unwrap();
    // Ends with the test.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that went away is not a failure.
            thread::spawn(move || answer(stream, addr, name));
        }
    });
    here
}

fn answer(mut client: TcpStream, addr: SocketAddr, name: Option<&str>) -> std::io::Result<()> {
    let mut server = TcpStream::connect(addr)?;
    let (mut asks, mut asked) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || std::io::copy(&mut asks, &mut asked));
    let mut answer = Vec::new();
    server.read_to_end(&mut answer)?;
    let line = b"x-served-by: qr-service\r\n";
    if let Some(at) = answer.windows(line.len()).position(|bytes| bytes.eq_ignore_ascii_case(line))
    {
        let renamed = name.map_or_else(String::new, |name| format!("X-Served-By: {name}\r\n"));
        answer.splice(at..at + line.len(), renamed.into_bytes());
    }
    client.write_all(&answer)?;
    client.shutdown(std::net::Shutdown::Both)
}

/// Only `make test-all` runs these.
mod nightly {
    use super::*;

    #[test]
    fn the_contract_holds_for_each_side_alone_and_behind_the_proxy() {
        let stack = support::start(|_| {});
        let at = &stack.settings().addresses;
        check(&format!("http://{}", at.of("new")), &by(&["qr-service"]));
        check(&stack.url(), &by(&["qr-service"]));
        stack.set_split("qrcode", Share::NONE).unwrap();
        check(&stack.url(), &by(&["legacy-node"]));
    }

    #[test]
    fn the_reference_engine_and_a_cluster_keep_the_contract() {
        let stack = support::start(|it| {
            support::set(it, "engine", "reference");
            support::set(it, "old_workers", "2");
        });
        let options = Options { reference_engine: true, ..by(&["qr-service"]) };
        check(&format!("http://{}", stack.settings().addresses.of("new")), &options);
        check(&format!("http://{}", stack.settings().addresses.of("old")), &by(&["legacy-node"]));
    }
}
