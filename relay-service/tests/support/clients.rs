//! Clients that write and read HTTP/1 themselves.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;
use service_kit::testing::{Service, connect, exchange};

use super::metric;

/// The messages for a sender that waits for its only receiver.
pub(crate) const LINES: &str = "[INFO] Waiting for 1 receiver(s)...\n[INFO] A receiver was connected.\n\
    [INFO] Start sending to 1 receiver(s)!\n[INFO] Sent successfully!\n\
    [INFO] All receiver(s) was/were received successfully.\n";

/// Lines of a head that others might read otherwise.
pub(crate) const MALFORMED: [&str; 15] = [
    "content-length: 5\r\ncontent-length: 6",
    "content-length: 5, 6",
    "content-length: +5",
    "content-length: 0x5",
    "content-length: 99999999999999999999",
    "content-length : 5",
    "transfer-encoding : chunked",
    "transfer-encoding: chunked, identity",
    "transfer-encoding: xchunked",
    "transfer-encoding: gzip",
    "transfer-encoding: chunked\r\ntransfer-encoding: identity",
    " folded: z",
    "x: y\rcontent-length: 5",
    "x\0y: z",
    "x: y\0",
];

pub(crate) fn receive(addr: SocketAddr, target: &str) -> TcpStream {
    let mut stream = connect(addr);
    write!(stream, "GET /p/{target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    stream
}

pub(crate) fn head(target: &str, framing: &str) -> String {
    format!("PUT /p/{target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{framing}\r\n\r\n")
}

pub(crate) fn put(target: &str, body: &str) -> String {
    head(target, &format!("content-length: {}", body.len())) + body
}

/// The body of an answer that ends with its connection.
pub(crate) fn body(mut stream: TcpStream) -> Vec<u8> {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    answer.split_off(end + 4)
}

/// Reads byte by byte, so that the bytes after `end` stay for the next read.
pub(crate) fn read_until(stream: &mut TcpStream, end: &[u8]) {
    let (mut got, mut byte) = (Vec::new(), [0]);
    while !got.ends_with(end) {
        let count = stream.read(&mut byte).unwrap();
        assert!(count > 0, "{}", got.escape_ascii());
        got.push(byte[0]);
    }
}

/// The rest of an answer, as text.
pub(crate) fn rest(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

pub(crate) fn is_cut(mut stream: TcpStream) -> bool {
    let error = stream.read_to_end(&mut Vec::new()).err();
    error.is_some_and(|error| error.kind() == ErrorKind::ConnectionReset)
}

pub(crate) fn waiting(service: &Service) -> f64 {
    metric(service, "relay_waiting_keys")
}

/// Checks that another pair gets through.
pub(crate) fn serves(service: &Service, key: &str) {
    serves_at(service.addr, key);
}

/// Checks that another pair gets through at this address.
pub(crate) fn serves_at(addr: SocketAddr, key: &str) {
    let receiver = receive(addr, key);
    assert!(exchange(addr, &put(key, "hello")).contains("received successfully."));
    assert_eq!(body(receiver), b"hello");
}

/// Sends until the buffers on the way are full.
pub(crate) fn fill(sender: &mut TcpStream) {
    sender.set_nonblocking(true).unwrap();
    let piece = vec![0; 1 << 20];
    // The systems on both sides may make more room for a moment.
    for _ in 0..20 {
        while sender.write(&piece).is_ok() {}
        std::thread::sleep(Duration::from_millis(10));
    }
    sender.set_nonblocking(false).unwrap();
}

/// Closes the connection by a reset, or in order: then the sender has read its answer first, so its system resets nothing.
pub(crate) fn leave(mut sender: TcpStream, is_reset: bool) {
    if is_reset {
        return set_socket_linger(&sender, Some(Duration::ZERO)).unwrap();
    }
    sender.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    while sender.read(&mut [0; 4096]).is_ok() {}
}

pub(crate) fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|place| (place ^ (place >> 8) ^ (place >> 16)) as u8).collect()
}

/// For some rounds with pauses, keeps three slow clients: an unfinished head, an unfinished body, and a receiver that
/// reads byte by byte. Pairs others meanwhile. Finishes all but the head, and returns its connection.
pub(crate) fn slow_clients(addr: SocketAddr, rounds: usize, pause: Duration) -> TcpStream {
    let (mut loris, mut late) = (connect(addr), connect(addr));
    loris.write_all(b"GET /p/loris HTTP/1.1\r\nx: ").unwrap();
    late.write_all(b"PUT /p/late HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nh").unwrap();
    let late_receiver = receive(addr, "late");
    let mut trickle = receive(addr, "trickle");
    let sent = bytes(30 << 20);
    let mut big = connect(addr);
    big.write_all(head("trickle", &format!("content-length: {}", sent.len())).as_bytes()).unwrap();
    let sending = std::thread::spawn({
        let sent = sent.clone();
        move || big.write_all(&sent).map(|()| body(big))
    });
    let mut got = Vec::new();
    for round in 0..rounds {
        // Fails once the server has closed the connection.
        let _ = loris.write_all(b"x");
        let mut byte = [0];
        trickle.read_exact(&mut byte).unwrap();
        got.push(byte[0]);
        serves_at(addr, &format!("between-{round}"));
        std::thread::sleep(pause);
    }
    late.write_all(b"ello").unwrap();
    assert_eq!(body(late_receiver), b"hello");
    trickle.read_to_end(&mut got).unwrap();
    assert!(got.ends_with(&sent));
    sending.join().unwrap().unwrap();
    loris
}
