//! Requests that are answered before hyper: what hyper and the routes answer to them, and in the same order.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufReader, Write};
use std::net::SocketAddr;
use std::process::Command;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use service_kit::testing::{Service, eventually, exchange, get, read_status};

/// A header that makes a request one for hyper, and changes nothing else.
const BY_HYPER: &str = "connection: keep-alive, keep-alive\r\n";

fn start(settings: &[(&str, &str)]) -> Service {
    let mut command = Command::new(env!("CARGO_BIN_EXE_qr-service"));
    command.env_clear().env("QR_ADDR", "127.0.0.1:0").env("QR_ADMIN_ADDR", "127.0.0.1:0");
    Service::start(command.envs(settings.iter().copied()))
}

/// A text in a query, legal or not.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-zA-Z0-9._~!$'()*,;=:@/?+-]{1,60}|(%[0-9A-F]{2}){1,30}",
        1 => "[!-~é\"<>`{}|^#%&]{0,20}",
        1 => "[a-z%]{500,520}",
    ]
}

/// A target and headers, plain or not, legal or not.
fn request() -> impl Strategy<Value = (String, Vec<String>)> {
    let path = prop_oneof![
        6 => Just("/qrcode?text="),
        1 => Just("/qrcode?a=1&text="),
        1 => prop::sample::select(vec!["/qrcode?text=a&text=", "/qrcode?", "/qrcode", "/qrcode/?text=", "/", "qrcode?text="]),
    ];
    (target_of(path), headers())
}

fn target_of(path: impl Strategy<Value = &'static str>) -> impl Strategy<Value = String> {
    (path, text()).prop_map(|(path, text)| path.to_owned() + &text)
}

fn headers() -> impl Strategy<Value = Vec<String>> {
    let header = prop::sample::select(vec![
        "host: example.com",
        "Connection: Keep-Alive",
        "Content-Length: 0",
        "x-request-id: plain-1",
        "X-Request-ID: plain-2  ",
        "x-request-id: two words",
        "x-request-id:",
        "if-none-match: \"a\"",
        "If-None-Match: *",
        "accept: */*",
        "Accept: text/html, image/svg+xml;q=0.9, image/*;q=0.8",
        "accept: application/json",
        "accept: image/webp",
        "accept: \u{e9}/*",
        "a:b",
        "\u{7f}: b",
        "a : b",
        "a: \u{1}",
        "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    ]);
    prop::collection::vec(header.prop_map(str::to_owned), 0..4)
}

/// The same for `/v1/qr`, with options.
#[cfg(feature = "api")]
fn request_with_options() -> impl Strategy<Value = (String, Vec<String>)> {
    let path = prop_oneof![
        4 => prop::sample::select(vec!["/v1/qr?text=", "/v1/qr.png?text=", "/v1/qr.svg?text="]),
        1 => prop::sample::select(vec![
            "/v1/qr?data=", "/v1/qr?", "/v1/qr", "/v1/qr.txt?text=", "/v1/qr.gif?text=", "/v1/qr.?text=",
            "/v1/qr/?text=", "/v1/qrs?text=", "/v1/QR?text=", "/v1/", "/v1/payload/geo?latitude=1&longitude=",
        ]),
    ];
    // Without those whose picture is decoded: on a busy machine the workers may refuse one of the two.
    let options = prop::sample::select(vec![
        "size=200",
        "size=20",
        "size=5000",
        "size=x",
        "scale=8",
        "scale=13",
        "margin=0",
        "margin=NaN",
        "level=L",
        "level=H",
        "level=X",
        "boost=true",
        "format=png",
        "format=svg",
        "format=json",
        "mask=3",
        "mask=8",
        "kind=micro",
        "kind=rmqr",
        "mode=byte",
        "mode=numeric",
        "eci=26",
        "gs1=true",
        "part=1",
        "version_max=2",
        "version_min=30",
        "filename=a.png",
        "filename=%C3%BC",
        "title=t",
        "light=fff",
        "dark=000000",
        "text=b",
        "unknown=1",
        "%73ize=200",
        "",
        "=",
    ]);
    let options = prop::collection::vec(options, 0..4)
        .prop_map(|options| options.iter().map(|option| format!("&{option}")).collect::<String>());
    let target = (target_of(path), options).prop_map(|(target, options)| target + &options);
    (target, headers())
}

/// The answers to these requests, sent at once on one connection, without what differs each time.
fn answers(addr: SocketAddr, requests: &[(String, Vec<String>)], more: &str) -> String {
    let mut heads = String::new();
    for (target, headers) in requests {
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        heads += &format!("GET {target} HTTP/1.1\r\n{headers}{more}\r\n");
    }
    let answers = exchange(addr, &(heads + "GET /end HTTP/1.1\r\nconnection: close\r\n\r\n"));
    let is_made = |line: &str| {
        let id = line.strip_prefix("x-request-id: ");
        id.is_some_and(|id| id.trim().len() == 32) || line.starts_with("date: ")
    };
    answers
        .split_inclusive('\n')
        .map(|line| if is_made(line) { &line[..5] } else { line })
        .collect()
}

fn check(service: &Service, request: impl Strategy<Value = (String, Vec<String>)>) {
    let requests = prop::collection::vec(request, 1..4);
    let mut runner = TestRunner::default();
    let ran = runner.run(&requests, |requests| {
        let by_hyper = answers(service.addr, &requests, BY_HYPER);
        prop_assert_eq!(answers(service.addr, &requests, ""), by_hyper);
        Ok(())
    });
    ran.unwrap();
}

#[test]
fn a_plain_request_gets_the_answer_of_hyper_and_the_routes_to_the_byte() {
    check(&start(&[]), request());
}

#[cfg(feature = "api")]
#[test]
fn so_does_one_with_options_for_whatever_origin() {
    for origin in ["*", "none", "https://example.com"] {
        let service = start(&[("QR_CORS_ORIGIN", origin)]);
        let named = [("/v1/qr?text=a&filename=a.png".to_owned(), vec![])];
        assert_eq!(answers(service.addr, &named, ""), answers(service.addr, &named, BY_HYPER));
        check(&service, request_with_options());
    }
}

/// Sends three requests, the last one to hyper.
fn check_counts(target: &str, route: &str, more: &[&str]) {
    let service = start(&[]);
    let mut stream = BufReader::new(service.connect());
    for head in ["", "x-request-id: plain-1\r\n", BY_HYPER] {
        let head = format!("GET {target} HTTP/1.1\r\nhost: x\r\n{head}\r\n");
        stream.get_mut().write_all(head.as_bytes()).unwrap();
        assert_eq!(read_status(&mut stream, false), 200);
    }
    let labels = format!("{{route=\"{route}\",method=\"GET\",status=\"200\"}}");
    let lines = [
        &format!("http_requests_total{labels} 3"),
        &format!("http_request_duration_seconds_count{labels} 3"),
        "http_requests_in_flight 0",
        "http_connections_open 1",
    ];
    // The last one counts once its answer is written, which the client may see before.
    for line in lines.iter().chain(more) {
        eventually(line, || get(service.admin_addr, "/metrics").lines().any(|it| it == *line));
    }
}

#[test]
fn a_plain_request_is_counted_like_any_other() {
    let pictures = ["qr_generate_seconds_count 3", "qr_png_bytes_count 3"];
    check_counts("/qrcode?text=a", "/qrcode", &pictures);
    #[cfg(feature = "api")]
    check_counts("/v1/qr?text=a", "/v1/", &["qr_generate_seconds_count 0"]);
}
