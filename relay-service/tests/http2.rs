//! HTTP/2 clients that behave as no usual client does.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use service_kit::testing::{connect, eventually};

use crate::support::clients::{body, is_cut, receive, serves, waiting};
use crate::support::{metric, relay_service};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Types of frames (RFC 9113, section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
/// Flags.
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;
/// The only stream of a connection.
const STREAM: u8 = 1;

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0, 0, length, kind, flags, 0, 0, 0, stream], payload].concat()
}

/// A client that has sent a request's head. It reads nothing, and so answers no ping.
fn request(addr: SocketAddr, method: &str, key: &str, flags: u8) -> TcpStream {
    let path = format!("/p/{key}");
    // Literal fields with indexed names (RFC 7541, section 6.2.2), and the indexed field `:scheme: http`.
    let field = |name: u8, value: &str| [&[name, value.len() as u8], value.as_bytes()].concat();
    let fields = [field(2, method), vec![0x86], field(4, &path), field(1, "x")].concat();
    let mut stream = connect(addr);
    let settings = [frame(SETTINGS, 0, 0, &[]), frame(SETTINGS, ACK, 0, &[])].concat();
    let head = frame(HEADERS, END_HEADERS | flags, STREAM, &fields);
    stream.write_all(&[PREFACE, &settings, &head].concat()).unwrap();
    stream
}

#[test]
fn a_client_that_sends_a_preface_and_then_nothing_is_closed() {
    let service = relay_service(&[("RELAY_HEADER_TIMEOUT", "200ms")]);
    for begun in [&PREFACE[..7], PREFACE, &[PREFACE, &frame(SETTINGS, 0, 0, &[])].concat()] {
        let mut stream = connect(service.addr);
        stream.write_all(begun).unwrap();
        // An error is a reset.
        let _ = stream.read_to_end(&mut Vec::new());
    }
    serves(&service, "a");
}

#[test]
fn a_body_that_ends_with_an_empty_frame_has_one_last_chunk() {
    let service = relay_service(&[]);
    let receiver = receive(service.addr, "a");
    eventually("it waits", || waiting(&service) == 1.0);
    let mut sender = request(service.addr, "PUT", "a", 0);
    let data = [frame(DATA, 0, STREAM, b"hello"), frame(DATA, END_STREAM, STREAM, &[])].concat();
    sender.write_all(&data).unwrap();
    assert_eq!(body(receiver), b"5\r\nhello\r\n0\r\n\r\n");
}

#[test]
fn a_sender_that_resets_its_stream_cuts_its_receiver_whatever_the_code() {
    let service = relay_service(&[]);
    // NO_ERROR, INTERNAL_ERROR, CANCEL.
    for code in [0, 2, 8] {
        let receiver = receive(service.addr, "a");
        eventually("it waits", || waiting(&service) == 1.0);
        let mut sender = request(service.addr, "PUT", "a", 0);
        sender.write_all(&frame(DATA, 0, STREAM, b"hello")).unwrap();
        eventually("they are paired", || metric(&service, "relay_established_pairs") == 1.0);
        sender.write_all(&frame(RST_STREAM, 0, STREAM, &[0, 0, 0, code])).unwrap();
        assert!(is_cut(receiver), "{code}");
        eventually("the key is free", || metric(&service, "relay_established_pairs") == 0.0);
    }
}

#[test]
fn a_waiting_client_that_resets_its_stream_is_forgotten() {
    let service = relay_service(&[]);
    for (method, flags) in [("GET", END_STREAM), ("PUT", 0)] {
        let mut client = request(service.addr, method, "a", flags);
        eventually("it waits", || waiting(&service) == 1.0);
        client.write_all(&frame(RST_STREAM, 0, STREAM, &[0, 0, 0, 8])).unwrap();
        eventually("it is forgotten", || waiting(&service) == 0.0);
    }
}

/// Only `make test-all` runs these.
mod nightly {
    use super::*;

    #[test]
    fn clients_that_answer_no_ping_are_forgotten_with_their_pair() {
        let service = relay_service(&[]);
        // As with a client that has vanished, nothing fails until it would have to answer a ping.
        let _waits = request(service.addr, "GET", "lonely", END_STREAM);
        let _sends = request(service.addr, "PUT", "a", 0);
        let _receives = request(service.addr, "GET", "a", END_STREAM);
        let under_way = || metric(&service, "relay_established_pairs");
        eventually("they wait", || waiting(&service) == 1.0 && under_way() == 1.0);
        // 30 s until the ping, and 20 s for its answer.
        std::thread::sleep(Duration::from_secs(50));
        eventually("they are forgotten", || waiting(&service) == 0.0 && under_way() == 0.0);
    }
}
