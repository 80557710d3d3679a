//! Slow and hostile clients, and bodies with wrong lengths, must not harm other clients.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::Duration;

use service_kit::testing::{connect, eventually, exchange};

use crate::support::clients::{
    MALFORMED, body, head, is_cut, put, read_until, receive, rest, serves, slow_clients, waiting,
};
use crate::support::{metric, relay_service};

#[test]
fn a_sender_for_250_waits_for_them_and_others_pair() {
    let service = relay_service(&[]);
    let mut sender = connect(service.addr);
    sender.write_all(put("many?n=250", "hello").as_bytes()).unwrap();
    let first = receive(service.addr, "many?n=250");
    eventually("they wait", || waiting(&service) == 1.0);
    for number in 0..20 {
        serves(&service, &format!("other-{number}"));
    }
    let rest: Vec<_> = (1..250).map(|_| receive(service.addr, "many?n=250")).collect();
    for receiver in rest.into_iter().chain([first]) {
        assert_eq!(body(receiver), b"hello");
    }
}

#[test]
fn a_sender_for_250_of_whom_249_never_come_is_told_so() {
    let service = relay_service(&[("RELAY_WAIT_TIMEOUT", "1s")]);
    let receiver = receive(service.addr, "many?n=250");
    eventually("it waits", || waiting(&service) == 1.0);
    let answer = exchange(service.addr, &put("many?n=250", "hello"));
    assert!(answer.contains("[ERROR] No receiver came in time.\n"), "{answer}");
    assert_eq!(body(receiver), b"[ERROR] No sender came in time.\n");
    assert_eq!(waiting(&service), 0.0);
    serves(&service, "many");
}

/// Two thousand of the longest keys show what a million would leave behind.
#[test]
fn keys_used_one_after_another_leave_the_memory_flat() {
    let service = relay_service(&[]);
    let (mut sender, mut receiver) = (connect(service.addr), connect(service.addr));
    let mut use_keys = |keys: std::ops::Range<u32>| {
        for key in keys {
            let key = format!("{key}-{}", "k".repeat(1000));
            // In one write, or Nagle's algorithm delays the rest by 40 ms.
            let request = format!("GET /p/{key} HTTP/1.1\r\nhost: x\r\n\r\n");
            receiver.write_all(request.as_bytes()).unwrap();
            let head = format!("PUT /p/{key} HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\nx");
            sender.write_all(head.as_bytes()).unwrap();
            read_until(&mut receiver, b"\r\n\r\nx");
            read_until(&mut sender, b"\r\n0\r\n\r\n");
        }
    };
    use_keys(0..300);
    let before = metric(&service, "process_resident_memory_bytes");
    use_keys(300..2_300);
    let grown = metric(&service, "process_resident_memory_bytes") - before;
    assert!(grown < 1_000_000.0, "{grown} bytes for 2 MB of keys");
}

#[test]
fn slow_clients_hold_nobody_up() {
    let service = relay_service(&[("RELAY_HEADER_TIMEOUT", "2s")]);
    let mut loris = slow_clients(service.addr, 20, Duration::from_millis(50));
    assert_eq!(loris.read(&mut [0; 100]).unwrap_or_default(), 0, "the loris is still there");
}

#[test]
fn a_head_at_its_limits_is_read_and_a_longer_one_refused() {
    let service = relay_service(&[]);
    let ask = |headers: usize, bytes: usize| {
        let lines = format!("x: {}\r\n", "a".repeat(bytes)).repeat(headers);
        let end = "host: x\r\nconnection: close\r\n";
        exchange(service.addr, &format!("OPTIONS /p/a HTTP/1.1\r\n{lines}{end}\r\n"))
    };
    assert!(ask(98, 10).starts_with("HTTP/1.1 200 "));
    assert!(ask(1, 30_000).starts_with("HTTP/1.1 200 "));
    for answer in [ask(99, 10), ask(1, 40_000)] {
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
}

#[test]
fn chunk_extensions_pass_and_too_many_break_the_body() {
    let service = relay_service(&[]);
    let send = |key: &str, body: &str| {
        let receiver = receive(service.addr, key);
        eventually("it waits", || waiting(&service) == 1.0);
        let mut sender = connect(service.addr);
        sender.write_all((head(key, "transfer-encoding: chunked") + body).as_bytes()).unwrap();
        (receiver, sender)
    };
    let (receiver, _sender) = send("a", "5;name=\"va;lue\"\r\nhello\r\n0;x\r\nTrailer: 1\r\n\r\n");
    assert_eq!(body(receiver), b"5\r\nhello\r\n0\r\n\r\n");
    let (receiver, _sender) = send("b", &format!("5;{}\r\nhello\r\n0\r\n\r\n", "x".repeat(20_000)));
    assert!(is_cut(receiver));
}

#[test]
fn a_body_has_as_many_bytes_as_its_head_says() {
    let service = relay_service(&[]);
    let receiver = receive(service.addr, "longer");
    let mut sender = connect(service.addr);
    let head = "PUT /p/longer HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\n";
    sender.write_all(format!("{head}hello, world\r\n\r\n").as_bytes()).unwrap();
    assert_eq!(body(receiver), b"hello");
    let answer = rest(sender);
    let (lines, next) = answer.split_once("0\r\n\r\n").unwrap();
    assert!(lines.contains("received successfully."), "{answer}");
    assert!(next.starts_with("HTTP/1.1 400 "), "the rest is no request: {answer}");

    let receiver = receive(service.addr, "shorter");
    // Otherwise the sender, which half-closes, would have left before it was paired.
    eventually("the receiver waits", || metric(&service, "relay_waiting_keys") == 1.0);
    let mut sender = connect(service.addr);
    sender.write_all(put("shorter", "hello").replace("length: 5", "length: 6").as_bytes()).unwrap();
    sender.shutdown(Shutdown::Write).unwrap();
    assert!(is_cut(receiver));
    eventually("the key is free", || metric(&service, "relay_established_pairs") == 0.0);
}

#[test]
fn a_head_that_others_might_read_otherwise_is_refused_and_ends_its_connection() {
    let service = relay_service(&[]);
    let chunks = "0\r\n\r\nGET /p/smuggled HTTP/1.1\r\nhost: x\r\n\r\n";
    for lines in MALFORMED.into_iter().chain(["content-length:", "x: y\r\n folded: z"]) {
        let request = format!("PUT /p/a HTTP/1.1\r\nhost: x\r\n{lines}\r\n\r\n{chunks}");
        let answer = exchange(service.addr, &request);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{lines:?}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{lines:?}: {answer}");
    }
    for start in ["PUT /p/a HTTP/2.0", "PUT  /p/a HTTP/1.1", "PUT /p/ a HTTP/1.1", "PUT /p/a"] {
        let answer = exchange(service.addr, &format!("{start}\r\nhost: x\r\n\r\n{chunks}"));
        assert!(answer.starts_with("HTTP/1.1 400 "), "{start:?}: {answer}");
    }
    assert_eq!(waiting(&service), 0.0, "nobody came in");
}

#[test]
fn of_two_lengths_the_chunks_count_and_nothing_follows() {
    let service = relay_service(&[]);
    let receiver = receive(service.addr, "a");
    let lengths = "content-length: 5\r\ntransfer-encoding: chunked";
    let request = format!("PUT /p/a HTTP/1.1\r\nhost: x\r\n{lengths}\r\n\r\n");
    let smuggled = "GET /p/smuggled HTTP/1.1\r\nhost: x\r\n\r\n";
    let answer = exchange(service.addr, &format!("{request}3\r\nabc\r\n0\r\n\r\n{smuggled}"));
    assert!(answer.contains("connection: close\r\n"), "{answer}");
    assert!(answer.ends_with("received successfully.\n\r\n0\r\n\r\n"), "{answer}");
    let got = String::from_utf8(body(receiver)).unwrap();
    assert_eq!(got, "3\r\nabc\r\n0\r\n\r\n");
    assert_eq!(waiting(&service), 0.0, "the smuggled request waits");
}

#[test]
fn a_form_without_a_first_part_is_cut() {
    let service = relay_service(&[]);
    // The second one never ends the part's head, and would fill the memory.
    for form in ["--b7--\r\n".to_owned(), format!("--b7\r\n{}", "a".repeat(1 << 20))] {
        let receiver = receive(service.addr, "a");
        eventually("it waits", || waiting(&service) == 1.0);
        let mut sender = connect(service.addr);
        let framing = "content-type: multipart/form-data; boundary=b7\r\ncontent-length: 100000000";
        // The relay may have cut it meanwhile.
        let _ = sender.write_all((head("a", framing) + &form).as_bytes());
        let _ = sender.shutdown(Shutdown::Write);
        assert!(is_cut(receiver));
        eventually("the key is free", || metric(&service, "relay_established_pairs") == 0.0);
    }
    serves(&service, "a");
}

#[test]
fn a_sender_that_expects_it_is_told_to_go_on_before_its_answer_begins() {
    let service = relay_service(&[]);
    let mut sender = connect(service.addr);
    let framing = "expect: 100-continue\r\ncontent-length: 5";
    sender.write_all(head("a", framing).as_bytes()).unwrap();
    read_until(&mut sender, b"HTTP/1.1 100 Continue\r\n\r\n");
    read_until(&mut sender, b"Waiting for 1 receiver(s)...\n\r\n");
    let receiver = receive(service.addr, "a");
    sender.write_all(b"hello").unwrap();
    assert_eq!(body(receiver), b"hello");
    read_until(&mut sender, b"0\r\n\r\n");
}
