//! Tests HTTP, given as bytes, on every kind of route.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{Read, Write};
use std::net::Shutdown;
use std::process::Command;
#[cfg(feature = "api")]
use std::time::{Duration, Instant};

use service_kit::testing::{Service, connect, exchange};

/// Paths and their statuses: a picture, an error of a route, the API, an unknown route.
#[cfg(feature = "api")]
const ROUTES: [(&str, u16); 5] = [
    ("/qrcode?text=a", 200),
    ("/qrcode", 400),
    ("/v1/qr.svg?text=a&dark=036", 200),
    ("/v1/qr.png?text=a&size=600&shape=dots", 200),
    ("/nothing", 404),
];
#[cfg(not(feature = "api"))]
const ROUTES: [(&str, u16); 3] = [("/qrcode?text=a", 200), ("/qrcode", 400), ("/nothing", 404)];

fn start(environment: &[(&str, &str)]) -> Service {
    let mut command = Command::new(env!("CARGO_BIN_EXE_qr-service"));
    command.env_clear().env("QR_ADDR", "127.0.0.1:0").env("QR_ADMIN_ADDR", "127.0.0.1:0");
    command.envs(environment.iter().copied());
    Service::start(&mut command)
}

/// Tells whether there is exactly one answer, and it has this status.
fn is_one(answer: &str, status: u16) -> bool {
    answer.starts_with(&format!("HTTP/1.1 {status} ")) && answer.matches("HTTP/1.1 ").count() == 1
}

#[test]
fn a_client_that_closes_its_direction_is_answered_on_every_route() {
    let service = start(&[]);
    for (path, status) in ROUTES.into_iter().chain([("/readyz", 200), ("/metrics", 200)]) {
        let is_admin = ["/readyz", "/metrics"].contains(&path);
        let mut stream = connect(if is_admin { service.admin_addr } else { service.addr });
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer);
        assert!(is_one(&answer, status), "{path}: {answer}");
    }
}

#[test]
fn a_request_without_its_host_or_with_two_is_refused() {
    let service = start(&[]);
    for hosts in ["", "host: x\r\nhost: x\r\n"] {
        for addr in [service.addr, service.admin_addr] {
            let request = format!("GET /readyz HTTP/1.1\r\n{hosts}connection: close\r\n\r\n");
            assert!(is_one(&exchange(addr, &request), 400), "{hosts}");
        }
    }
}

#[test]
fn head_has_the_headers_of_get_and_no_body() {
    let service = start(&[]);
    for (path, status) in ROUTES {
        let ask = |method: &str| {
            let request =
                format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
            exchange(service.addr, &request)
        };
        let (head, get) = (ask("HEAD"), ask("GET"));
        assert!(is_one(&head, status) && head.ends_with("\r\n\r\n"), "{path}: {head}");
        let length = |answer: &str| {
            let line = answer.lines().find(|line| line.starts_with("content-length: "));
            line.unwrap_or_else(|| panic!("{path}: {answer}")).to_owned()
        };
        assert_eq!(length(&head), length(&get), "{path}");
    }
}

/// The service never reads a body as the next request.
#[test]
fn a_body_that_nobody_asked_for_is_no_request() {
    let service = start(&[]);
    let hidden = "GET /hidden HTTP/1.1\r\nhost: x\r\n\r\n";
    let length = hidden.len();
    for (path, status) in ROUTES {
        for body in [
            format!("content-length: {length}\r\n\r\n{hidden}"),
            format!("transfer-encoding: chunked\r\n\r\n{length:x}\r\n{hidden}\r\n0\r\n\r\n"),
            format!("expect: 100-continue\r\ncontent-length: {length}\r\n\r\n{hidden}"),
        ] {
            let next = "GET /qrcode HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
            let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n{body}{next}");
            let answer = exchange(service.addr, &request);
            let answers = || answer.match_indices("HTTP/1.1 ").map(|(at, _)| &answer[at + 9..]);
            let is_final = |it: &&str| !it.starts_with("100 ");
            let statuses: Vec<_> = answers().filter(is_final).map(|it| &it[..3]).collect();
            let (first, rest) = statuses.split_first().unwrap();
            assert_eq!(*first, status.to_string(), "{path} {body:?}: {answer}");
            // The service may also close the connection after the first answer.
            assert!(rest.is_empty() || rest == ["400"], "{path} {body:?}: {statuses:?}");
        }
    }
}

#[cfg(feature = "api")]
#[test]
fn a_body_that_is_awaited_is_asked_for() {
    let service = start(&[]);
    let mut stream = connect(service.addr);
    let head = "POST /v1/qr.svg HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
        content-length: 12\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let mut begun = [0; 25];
    stream.read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"{\"text\":\"a\"}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(is_one(&answer, 200), "{answer}");
}

#[cfg(feature = "api")]
#[test]
fn a_body_that_stops_is_answered_408_and_the_connection_closed() {
    let service = start(&[]);
    let head = "POST /v1/decode HTTP/1.1\r\nhost: x\r\ncontent-type: image/png\r\n\
        content-length: 1000\r\n\r\nsome";
    let began = Instant::now();
    let answer = exchange(service.addr, head);
    assert!(is_one(&answer, 408), "{answer}");
    assert!(began.elapsed() < Duration::from_secs(19), "closed");
}
