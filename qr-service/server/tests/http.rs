//! Tests HTTP, given as bytes, on every kind of route.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use service_kit::testing::{Service, exchange, on_free_ports};

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

fn start() -> Service {
    Service::start(&mut on_free_ports(env!("CARGO_BIN_EXE_qr-service"), "QR_"))
}

/// Tells whether there is exactly one answer, and it has this status.
fn is_one(answer: &str, status: u16) -> bool {
    answer.starts_with(&format!("HTTP/1.1 {status} ")) && answer.matches("HTTP/1.1 ").count() == 1
}

#[test]
fn head_has_the_headers_of_get_and_no_body() {
    let service = start();
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
    let service = start();
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
