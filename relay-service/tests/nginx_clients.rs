//! Clients that leave or send what is no request, through nginx, which has its own rules for them and sees less
//! than the relay does.

use std::io::{Read, Write};

use service_kit::testing::{connect, eventually, exchange, get};

use crate::support::clients::{MALFORMED, fill, head, leave, receive};
use crate::support::edge::Edge;

/// nginx reads no further than the relay's window, and looks for its client only when it reads or writes.
#[test]
fn a_waiting_sender_with_full_buffers_that_leaves_is_forgotten() {
    let edge = Edge::start("100");
    for (version, is_reset) in [("HTTP/1.1", false), ("HTTP/1.1", true), ("HTTP/1.0", false)] {
        let mut sender = connect(edge.addr);
        let head = head("a", "content-length: 1000000000").replace("HTTP/1.1", version);
        sender.write_all(head.as_bytes()).unwrap();
        edge.wait_for_waiting(1);
        fill(&mut sender);
        leave(sender, is_reset);
        edge.wait_for_waiting(0);
    }
}

/// nginx refuses what the relays would refuse, before either sees it.
#[test]
fn a_head_that_others_might_read_otherwise_reaches_no_relay() {
    let edge = Edge::start("100");
    let chunks = "0\r\n\r\nGET /p/smuggled HTTP/1.1\r\nhost: x\r\n\r\n";
    for lines in MALFORMED.into_iter().chain(["content-length: 5\r\ntransfer-encoding: chunked"]) {
        let request = format!("PUT /p/a HTTP/1.1\r\nhost: x\r\n{lines}\r\n\r\n{chunks}");
        let answer = exchange(edge.addr, &request);
        let is_refused = answer.starts_with("HTTP/1.1 400 ") || answer.starts_with("HTTP/1.1 501 ");
        assert!(is_refused, "{lines:?}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{lines:?}: {answer}");
    }
    edge.wait_for_waiting(0);
}

#[test]
fn a_body_with_broken_chunks_ends_no_answer_like_a_whole_one() {
    let edge = Edge::start("100");
    let head = head("a", "transfer-encoding: chunked");
    let mut receiver = receive(edge.addr, "a");
    edge.wait_for_waiting(1);
    // nginx gets this body together with its head, refuses it, and asks no relay. The receiver goes on waiting.
    let answer = exchange(edge.addr, &format!("{head}5\r\nhelloX\r\n0\r\n\r\n"));
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    edge.wait_for_waiting(1);
    let mut sender = connect(edge.addr);
    sender.write_all(format!("{head}5\r\nhello\r\n").as_bytes()).unwrap();
    let mut got = Vec::new();
    while !got.ends_with(b"5\r\nhello\r\n") {
        let mut piece = [0; 1024];
        let count = receiver.read(&mut piece).unwrap();
        assert!(count > 0, "{}", got.escape_ascii());
        got.extend_from_slice(&piece[..count]);
    }
    sender.write_all(b"X\r\n0\r\n\r\n").unwrap();
    // An error is a cut, too.
    let _ = receiver.read_to_end(&mut got);
    assert!(got.ends_with(b"5\r\nhello\r\n"), "{}", got.escape_ascii());
    eventually("no pair is left", || {
        get(edge.new.admin_addr, "/metrics").contains("relay_established_pairs 0\n")
    });
}
