//! The relay as a route of the stack: both halves of a pair go through nginx while the relay's share moves.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use carve::local::{Share, Stack};
use rustix::process::Signal;

use crate::support::{get, holds_within, log_lines, start};

/// Sends `body` to a waiting receiver. Returns what the receiver gets, and the side that served it.
fn pair(stack: &Stack, key: &str, body: &[u8]) -> (Vec<u8>, String) {
    let receiver = receive(stack, key);
    send(stack, key, body);
    complete(receiver)
}

fn receive(stack: &Stack, key: &str) -> TcpStream {
    let mut stream = TcpStream::connect(stack.settings().addresses.proxy).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    write!(stream, "GET /p/{key} HTTP/1.0\r\nX-Request-Id: get-{key}\r\n\r\n").unwrap();
    stream
}

fn send(stack: &Stack, key: &str, body: &[u8]) {
    let mut curl = Command::new("curl");
    curl.args(["-sS", "-T", "-", "-H", &format!("X-Request-Id: put-{key}")]);
    curl.arg(format!("{}/p/{key}", stack.url())).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut curl = curl.spawn().unwrap();
    curl.stdin.take().unwrap().write_all(body).unwrap();
    let output = curl.wait_with_output().unwrap();
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(lines.contains("received successfully."), "{key}: {lines}");
}

fn complete(mut receiver: TcpStream) -> (Vec<u8>, String) {
    let mut answer = Vec::new();
    receiver.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let body = answer.split_off(end + 4);
    let head = String::from_utf8(answer).unwrap().to_ascii_lowercase();
    let side = head.lines().find_map(|line| line.strip_prefix("x-served-by: "));
    (body, side.unwrap_or_else(|| panic!("{head}")).to_owned())
}

fn set_share(stack: &Stack, percent: u16) {
    stack.set_split("relay", Share::percent(percent).unwrap()).unwrap();
}

fn metrics(stack: &Stack) -> String {
    get(&format!("http://{}/metrics", stack.settings().addresses.edge), &[]).text()
}

#[test]
fn pairs_meet_while_the_share_moves_and_parts_fail() {
    let stack = start(|it| it.wanted.share = Some(Share::NONE));
    let body = vec![b'x'; 3_000_000];
    assert_eq!(pair(&stack, "first", &body), (body.clone(), "legacy-node".to_owned()));

    // The other half comes after the share has moved, and still meets the first half.
    let waits = receive(&stack, "waits");
    let asked = || asked_of(&stack) > 2.0;
    assert!(holds_within(Duration::from_secs(10), asked), "the home is asked");
    set_share(&stack, 100);
    send(&stack, "waits", b"hello");
    assert_eq!(complete(waits), (b"hello".to_vec(), "legacy-node".to_owned()));
    assert_eq!(pair(&stack, "second", b"hello").1, "relay-service");

    // If one home is down, the other one answers for it, and a new share needs only the other one.
    stack.supervisor.stop_part("relay-home").unwrap();
    assert_eq!(pair(&stack, "third", b"hello").1, "relay-service");
    set_share(&stack, 0);
    assert_eq!(pair(&stack, "fourth", b"hello").1, "legacy-node");
    set_share(&stack, 100);
    stack.start_part("relay-home").unwrap();

    // A side that is down gets no new key. The supervisor starts it again.
    stack.supervisor.stop_part("relay-service").unwrap();
    assert_eq!(pair(&stack, "fifth", b"hello").1, "legacy-node");
    stack.start_part("relay-service").unwrap();
    stack.signal_part("legacy-relay", Signal::KILL).unwrap();
    assert_eq!(pair(&stack, "sixth", b"hello").1, "relay-service");

    rollout::stop(&stack.settings().nginx("relay"), "a test").unwrap();
    stack.wait_until_ready("legacy-relay").unwrap();
    assert_eq!(pair(&stack, "seventh", b"hello").1, "legacy-node");

    // `edge` counts both halves, and the logs have no key.
    let counted = "edge_requests_total{route=\"relay\",arm=\"new\",side=\"new\",code=\"2xx\"}";
    assert!(holds_within(Duration::from_secs(10), || metrics(&stack).contains(counted)));
    log_lines(stack.settings(), "nginx", "put-second", 1);
    let log = std::fs::read_to_string(stack.settings().requests_log()).unwrap();
    assert!(log.contains("\"route\":\"/p/*\"") && !log.contains("/p/second"), "a key in the log");
}

/// The number of keys that a home was asked for.
fn asked_of(stack: &Stack) -> f64 {
    let admin = stack.settings().addresses.of("home_admin");
    let text = get(&format!("http://{admin}/metrics"), &[]).text();
    let line = text.lines().find_map(|line| line.strip_prefix("home_requests_total "));
    line.unwrap().parse().unwrap()
}
