//! Tests qrcode.show, by host name.

use std::io::{BufReader, Write};
use std::net::SocketAddr;

use service_kit::testing::connect;

use crate::pictures::{extra, margins, picture, seen};
use crate::support::{Answer, Picture, of_rows, padded, read, read_answer, start};

const ON: [(&str, &str); 1] = [("QR_SHOW_HOST", "qr.example")];

fn ask(
    addr: SocketAddr,
    method: &str,
    host: &str,
    target: &str,
    headers: &str,
    body: &[u8],
) -> Answer {
    let mut stream = BufReader::new(connect(addr));
    let length = body.len();
    let head = format!(
        "{method} {target} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\n{headers}\r\n"
    );
    stream.get_mut().write_all(&[head.as_bytes(), body].concat()).unwrap();
    read_answer(&mut stream, method == "HEAD")
}

pub(crate) fn get_from(addr: SocketAddr, host: &str, target: &str, headers: &str) -> Answer {
    ask(addr, "GET", host, target, headers, b"")
}

fn show(addr: SocketAddr, target: &str, headers: &str) -> Answer {
    get_from(addr, "qr.example", target, headers)
}

const PNG: &str = "accept: image/png\r\n";

/// A width of 100 and one of 500 had the same `Vary: Accept`, so a cache sent one for the other.
#[test]
fn a_cache_may_keep_a_picture_for_the_headers_it_depends_on() {
    let service = start(&ON);
    let answer = show(service.addr, "/a", PNG);
    let vary = answer.header("vary").unwrap().to_lowercase();
    for name in ["accept", "x-qr-width", "x-qr-max-height", "x-qr-dark-color", "x-qr-version-type"]
    {
        assert!(vary.split(", ").any(|it| it == name), "{name}: {vary}");
    }
    assert_eq!(answer.header("cache-control"), Some("public, max-age=86400"));
    let wrong = show(service.addr, "/a", "x-qr-width: x\r\n");
    assert_eq!((wrong.status, wrong.header("cache-control")), (400, Some("no-store")));
    let posted = ask(service.addr, "POST", "qr.example", "/", PNG, b"a");
    assert_eq!((posted.status, posted.header("cache-control")), (200, Some("no-store")));
}

#[test]
fn the_path_is_the_text_as_it_stands_on_this_host_alone() {
    let service = start(&ON);
    for (target, text) in [
        ("/http://example.com", "http://example.com"),
        ("/https://example.com/?a=1&b=%20c", "https://example.com/?a=1&b=%20c"),
        ("/qrcode?text=a", "qrcode?text=a"),
        ("/v1/docs", "v1/docs"),
        ("/%C3%BC", "%C3%BC"),
    ] {
        assert_eq!(seen(&show(service.addr, target, PNG)).2, text, "{target}");
    }
    let with_port = get_from(service.addr, "QR.example:8080", "/a", PNG);
    assert_eq!(seen(&with_port).2, "a");
    for host in ["example", "qr.example.com", "x.qr.example", "qr.example@other"] {
        assert_eq!(get_from(service.addr, host, "/a", PNG).status, 404, "{host}");
    }
    let qrcode = get_from(service.addr, "other", "/qrcode?text=a", "");
    assert_eq!(qrcode.header("etag").map(|_| qrcode.status), Some(200));
}

#[test]
fn accept_chooses_the_format_by_its_first_type() {
    let service = start(&ON);
    for (accept, media) in [
        ("image/png", "image/png"),
        ("image/png;q=0.1, image/svg+xml", "image/png"),
        ("image/jpeg", "image/jpeg"),
        ("image/svg+xml", "image/svg+xml"),
    ] {
        let answer = show(service.addr, "/hello", &format!("accept: {accept}\r\n"));
        assert_eq!(answer.header("content-type"), Some(media));
        let (width, height, text) = seen(&answer);
        // The largest multiple of 29 modules up to 360.
        assert_eq!((width, height, &*text), (348, 348, "hello"), "{accept}");
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    }
    let page = show(service.addr, "/hello", "accept: text/html,*/*\r\n");
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(page.text().contains("src=\"data:image/svg+xml;base64,"));
    let blocks = show(service.addr, "/hello", "accept: */*\r\n");
    assert_eq!(read_lines(&blocks, half_rows), "hello");
    let full = show(service.addr, "/hello", "accept: text/plain\r\n");
    let full_row = |line: &str| vec![line.chars().step_by(2).map(|c| c == '█').collect()];
    assert_eq!(read_lines(&full, full_row), "hello");
}

fn read_lines(answer: &Answer, rows: impl Fn(&str) -> Vec<Vec<bool>>) -> String {
    assert_eq!(answer.status, 200);
    let rows: Vec<Vec<bool>> = answer.text().lines().flat_map(rows).collect();
    let picture: Picture = of_rows(&rows, 3);
    read(&padded(&picture), "qr").unwrap().text()
}

/// Returns the two rows of modules in a line of half blocks, which draw the light modules.
fn half_rows(line: &str) -> Vec<Vec<bool>> {
    let upper = line.chars().map(|c| !matches!(c, '█' | '▀')).collect();
    vec![upper, line.chars().map(|c| !matches!(c, '█' | '▄')).collect()]
}

#[test]
fn width_and_height_are_what_the_picture_fits_into() {
    let service = start(&ON);
    let width = |headers: &str| {
        let answer = show(service.addr, "/hello", &format!("{PNG}{headers}"));
        assert_eq!(seen(&answer).2, "hello", "{headers}");
        picture(&answer).width
    };
    for (headers, pixels) in [
        ("", 348),
        ("x-qr-width: 100\r\nx-qr-height: 100\r\n", 87),
        // The code is square, so the shorter side counts.
        ("x-qr-width: 100\r\n", 87),
        ("x-qr-width: 1000\r\n", 348),
        ("x-qr-height: 200\r\n", 174),
        ("x-qr-max-width: 1000\r\nx-qr-max-height: 1000\r\n", 986),
        // Without `x-qr-min-width`, the least is 360.
        ("x-qr-max-width: 200\r\nx-qr-max-height: 200\r\n", 348),
        ("x-qr-min-width: 100\r\nx-qr-min-height: 100\r\n", 87),
        (
            "x-qr-min-width: 100\r\nx-qr-min-height: 100\r\nx-qr-max-width: 200\r\nx-qr-max-height: 150\r\n",
            145,
        ),
        (
            "x-qr-width: 290\r\nx-qr-height: 290\r\nx-qr-max-width: 2000\r\nx-qr-max-height: 2000\r\n",
            290,
        ),
        ("x-qr-width: 0\r\nx-qr-height: 0\r\n", 29),
    ] {
        assert_eq!(width(headers), pixels, "{headers}");
    }
    let lines = |headers: &str| show(service.addr, "/hello", headers).text().lines().count();
    assert_eq!(lines(""), 15);
    assert_eq!(lines("x-qr-width: 60\r\nx-qr-height: 60\r\n"), 29);
    let large = show(service.addr, "/hello", "x-qr-width: 60\r\nx-qr-height: 60\r\n");
    assert_eq!(read_lines(&large, half_rows), "hello");
}

#[test]
fn headers_are_the_options() {
    let service = start(&ON);
    let with = |headers: &str| show(service.addr, "/hello", &format!("{PNG}{headers}"));
    assert_eq!(margins(&with("")), [48; 4]);
    let bare = with("x-qr-quiet-zone: false\r\n");
    assert_eq!((margins(&bare), picture(&bare).width), ([0; 4], 252));
    assert_eq!(extra(&with(""), "ECLevel"), "M");
    assert_eq!(extra(&with("x-qr-ec-level: H\r\n"), "ECLevel"), "H");
    let seven = with("x-qr-version-type: normal\r\nx-qr-version-number: 7\r\n");
    assert_eq!(["Version", "ECLevel"].map(|name| extra(&seven, name)), ["7", "L"]);
    let micro = with("x-qr-version-number: 4\r\n");
    assert_eq!(read(&padded(&picture(&micro)), "micro").unwrap().text(), "hello");
    let colours = "accept: image/svg+xml\r\nx-qr-dark-color: a00\r\nx-qr-light-color: ffeeee\r\n";
    let svg = show(service.addr, "/hello", colours);
    assert!(svg.text().contains("#a00") && seen(&svg).2 == "hello", "{}", svg.text());
    let png = with("x-qr-dark-color: aa0000\r\nx-qr-light-color: ffeeee\r\n");
    let image = image::load_from_memory(&png.body).unwrap().into_rgb8();
    assert_eq!([0, 50].map(|at| image.get_pixel(at, at).0), [[255, 238, 238], [170, 0, 0]]);
    for headers in [
        "x-qr-min-width: wide\r\n",
        "x-qr-min-width: 4097\r\n",
        "x-qr-width: 4097\r\n",
        "x-qr-height: -1\r\n",
        "x-qr-max-width: 1.5\r\n",
        "x-qr-max-height: all\r\n",
        "x-qr-dark-color: blue\r\n",
        "x-qr-dark-color: eeeeee\r\n",
        "x-qr-quiet-zone: 4\r\n",
        "x-qr-ec-level: X\r\n",
        "x-qr-version-number: 41\r\n",
        "x-qr-version-number: 5\r\n",
        "x-qr-version-type: normal\r\nx-qr-version-number: 1\r\nx-qr-ec-level: H\r\nx-pad: 1\r\n",
    ] {
        let target = if headers.contains("x-pad") { "/hello-hello-hello" } else { "/hello" };
        let answer = show(service.addr, target, &format!("{PNG}{headers}"));
        assert_eq!(answer.status, 400, "{headers}");
        assert!(answer.text().len() > 10);
    }
}

#[test]
fn a_post_has_the_text_as_its_body_and_an_empty_path_shows_help() {
    let service = start(&ON);
    let post =
        |target: &str, body: &[u8]| ask(service.addr, "POST", "qr.example", target, PNG, body);
    assert_eq!(seen(&post("/", "any ü text".as_bytes())).2, "any ü text");
    let bytes = post("/", &[0xff, 0, 1]);
    assert_eq!(read(&padded(&picture(&bytes)), "qr").unwrap().bytes(), [0xff, 0, 1]);
    assert_eq!(post("/", b"").status, 400);
    assert_eq!(post("/path", b"a").status, 400);
    assert_eq!(post("/", &vec![b'a'; 70_000]).status, 413);
    assert!(show(service.addr, "/", "").text().contains("curl"));
    assert!(show(service.addr, "/", "accept: text/html\r\n").text().contains("<pre>"));
    assert_eq!(show(service.addr, "/", PNG).status, 400);
    assert_eq!(ask(service.addr, "OPTIONS", "qr.example", "/a", "", b"").status, 200);
    let put = ask(service.addr, "PUT", "qr.example", "/a", "", b"");
    assert_eq!((put.status, put.header("allow")), (405, Some("GET, HEAD, POST, OPTIONS")));
}
