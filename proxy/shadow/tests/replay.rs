//! Sessions are played again on the real relays.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use service_kit::testing::{Service, connect, eventually, get};
use support::built;
use tempfile::TempDir;

/// The legacy app's relay; killed when dropped.
struct Legacy {
    child: Child,
    addr: SocketAddr,
    proxy_addr: SocketAddr,
    admin_addr: SocketAddr,
    _data: TempDir,
}

impl Legacy {
    fn start() -> Self {
        let data = tempfile::tempdir().unwrap();
        let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../legacy-node/src/server.js");
        let mut command = Command::new("node");
        command.arg(server).env("DATA_DIR", data.path()).stdout(Stdio::piped());
        for name in ["ADDR", "ADMIN_ADDR", "RELAY_ADDR", "RELAY_PROXY_ADDR"] {
            command.env(name, "127.0.0.1:0");
        }
        let mut child = command.spawn().unwrap();
        let mut log = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        log.read_line(&mut line).unwrap();
        let listening: Value = serde_json::from_str(&line).unwrap();
        // The log must be read on, or the app blocks.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        let addr = |name: &str| listening[name].as_str().unwrap().parse().unwrap();
        let (addr, proxy_addr, admin_addr) =
            (addr("relay_addr"), addr("relay_proxy_addr"), addr("admin_addr"));
        Legacy { child, addr, proxy_addr, admin_addr, _data: data }
    }
}

impl Drop for Legacy {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Place {
    old: Legacy,
    new: Service,
    shadow: Service,
    _routes: TempDir,
}

impl Place {
    fn start(request_timeout: &str) -> Self {
        let old = Legacy::start();
        let mut relay = Command::new(built("relay-service"));
        let new = Service::start(
            relay.env("RELAY_ADDR", "127.0.0.1:0").env("RELAY_ADMIN_ADDR", "127.0.0.1:0"),
        );
        let routes = tempfile::tempdir().unwrap();
        let text = format!(
            "path = \"/p/*\"\njudge = \"session\"\n\
             homes = [{{ url = \"http://127.0.0.1:9\", admin = \"http://127.0.0.1:9\" }}]\n\
             old.url = \"http://{}\"\nold.admin = \"http://{}\"\n\
             new.url = \"http://{}\"\nnew.admin = \"http://{}\"\n",
            old.proxy_addr, old.admin_addr, new.addr, new.admin_addr
        );
        std::fs::write(routes.path().join("relay.toml"), text).unwrap();
        let mut shadow = Command::new(env!("CARGO_BIN_EXE_shadow"));
        shadow.env("SHADOW_ADDR", "127.0.0.1:0").env("SHADOW_ADMIN_ADDR", "127.0.0.1:0");
        shadow.env("SHADOW_ROUTES", routes.path()).env("SHADOW_REQUEST_TIMEOUT", request_timeout);
        let shadow = Service::start(&mut shadow);
        Place { old, new, shadow, _routes: routes }
    }

    /// How many sessions had this result.
    fn compared(&self, result: &str) -> f64 {
        let labels = format!("{{route=\"relay\",result=\"{result}\"}}");
        metric(self.shadow.admin_addr, &format!("shadow_comparisons_total{labels}"))
    }

    fn mismatches(&self) -> String {
        get(self.shadow.admin_addr, "/mismatches")
    }
}

fn metric(admin: SocketAddr, name: &str) -> f64 {
    let metrics = get(admin, "/metrics");
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {metrics}")).parse().unwrap()
}

fn ask(relay: SocketAddr, head: &str, body: &[u8]) -> TcpStream {
    let mut stream = connect(relay);
    write!(stream, "{head}\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    stream.write_all(body).unwrap();
    stream
}

fn rest(mut stream: TcpStream) {
    // A cut is an error here.
    let _ = stream.read_to_end(&mut Vec::new());
}

/// Sessions of each kind, by hand: whole ones in both orders and framings, for several receivers, of a form, and
/// some that somebody leaves.
fn sessions(relay: SocketAddr, name: &str) -> usize {
    let get = |kind: &str, n: u8| ask(relay, &format!("GET /p/{name}-{kind}?n={n} HTTP/1.1"), b"");
    let put = |kind: &str, n: u8, framing: &str, body: &[u8]| {
        ask(relay, &format!("PUT /p/{name}-{kind}?n={n} HTTP/1.1\r\n{framing}"), body)
    };
    let pause = || std::thread::sleep(Duration::from_millis(100));
    let receiver = get("a", 1);
    pause();
    rest(put("a", 1, "content-length: 5", b"hello"));
    rest(receiver);
    let sender = put("b", 2, "transfer-encoding: chunked", b"5\r\nhello\r\n0\r\n\r\n");
    pause();
    let receivers = [get("b", 2), get("b", 2)];
    rest(sender);
    receivers.into_iter().for_each(rest);
    let form = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nhello\r\n--x--\r\n";
    let framing =
        format!("content-length: {}\r\ncontent-type: multipart/form-data; boundary=x", form.len());
    let sender = put("c", 1, &framing, form.as_bytes());
    pause();
    rest(get("c", 1));
    rest(sender);
    let sender = put("d", 1, "content-length: 10", b"hello");
    pause();
    let receiver = get("d", 1);
    pause();
    drop(sender);
    rest(receiver);
    let sender = put("e", 1, "content-length: 10", b"hello");
    pause();
    let receiver = get("e", 1);
    pause();
    drop(receiver);
    rest(sender);
    let receiver = get("f", 1);
    pause();
    drop(receiver);
    let sender = put("g", 1, "content-length: 10", b"hello");
    pause();
    sender.shutdown(std::net::Shutdown::Both).unwrap();
    7
}

#[test]
fn sessions_of_every_kind_go_the_same_way_on_both_sides_and_are_played_once() {
    let place = Place::start("30s");
    let played = sessions(place.old.addr, "old") + sessions(place.new.addr, "new");
    let all = || {
        ["match", "mismatch", "new_error", "old_error", "timeout", "skipped"]
            .map(|r| place.compared(r))
    };
    for count in 1..=played {
        eventually("all are played", || all().iter().sum::<f64>() >= count as f64);
    }
    assert_eq!(place.compared("match"), played as f64, "{:?} {}", all(), place.mismatches());
    for side in ["old", "new"] {
        let labels = format!("{{route=\"relay\",side=\"{side}\"}}");
        let metric = |name: &str| metric(place.shadow.admin_addr, &format!("{name}{labels}"));
        assert_eq!(metric("shadow_response_seconds_count"), played as f64);
        assert!(metric("shadow_stream_bytes_total") > 0.0);
        assert!(metric("shadow_stream_seconds_total") > 0.0);
    }
    // None of it is described or counted again.
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(all().iter().sum::<f64>(), played as f64);
    for admin in [place.old.admin_addr, place.new.admin_addr] {
        assert_eq!(get(admin, "/sessions").matches("\"id\"").count(), played / 2);
        assert_eq!(metric(admin, "relay_waiting_keys"), 0.0);
    }
}

#[test]
fn a_side_that_hangs_is_a_timeout_and_holds_up_nothing_for_ever() {
    let place = Place::start("1s");
    place.new.signal("STOP");
    let receiver = ask(place.old.addr, "GET /p/a HTTP/1.1", b"");
    std::thread::sleep(Duration::from_millis(200));
    rest(ask(place.old.addr, "PUT /p/a HTTP/1.1\r\ncontent-length: 5", b"hello"));
    rest(receiver);
    eventually("the session is over", || place.compared("timeout") == 1.0);
    assert!(place.mismatches().contains("was not over within 5s"), "{}", place.mismatches());
    place.new.signal("CONT");
}
