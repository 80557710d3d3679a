//! Tests that memory, the number of series and the size of a scrape stay bounded under load.

#![allow(clippy::print_stdout, reason = "cargo test reads it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::io::{BufReader, Write};
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use service_kit::testing::{Service, connect, exchange, on_free_ports, read_status, status_bytes};

/// The most memory of the process, without its code, which the kernel maps from its file.
const MOST_BYTES: u64 = 5_000_000;
const MOST_SERIES: usize = 500;
const MOST_SCRAPE_BYTES: usize = 50_000;

/// A request's method and target, and the expected status.
type Exchange = (&'static str, String, u16);

/// Returns 10,000 requests with distinct texts of many lengths.
fn pictures() -> impl Iterator<Item = Exchange> {
    (0..10_000).map(|i| {
        let text = format!("{i}-{}", "x".repeat(i % 500));
        ("GET", format!("/qrcode?text={text}"), 200)
    })
}

/// Returns 10,000 requests that cause errors of every kind.
fn errors() -> impl Iterator<Item = Exchange> {
    (0..10_000).map(|i| match i % 8 {
        0 => ("GET", format!("/qrcode?other={i}"), 400),
        1 => ("HEAD", format!("/qrcode?text={i}%FF"), 400),
        2 => ("GET", format!("/qrcode?text={i}&text=b"), 400),
        3 => ("GET", format!("/qrcode?text={}", "y".repeat(513 + i % 100)), 400),
        4 => ("DELETE", format!("/qrcode?text={i}"), 405),
        5 => ("PURGE", format!("/nothing/{i}"), 404),
        6 => ("HEAD", format!("/nothing/{i}"), 404),
        _ => ("GET", format!("/nothing/{i}?text=a"), 404),
    })
}

/// Returns HEAD requests, and requests for a picture that the client already has.
fn others() -> impl Iterator<Item = Exchange> {
    (0..1000).map(|i| match i % 3 {
        0 => ("HEAD", format!("/qrcode?text={i}"), 200),
        1 => ("HEAD", format!("/qrcode?text={i}&known"), 304),
        _ => ("GET", format!("/qrcode?text={i}&known"), 304),
    })
}

/// Sends all requests on one connection, in batches, and checks the statuses.
fn ask(addr: SocketAddr, all: &[Exchange]) {
    let mut stream = BufReader::new(connect(addr));
    for batch in all.chunks(20) {
        let mut requests = String::new();
        for (method, target, _) in batch {
            let known = if target.ends_with("&known") { "if-none-match: *\r\n" } else { "" };
            write!(requests, "{method} {target} HTTP/1.1\r\nhost: x\r\n{known}\r\n").unwrap();
        }
        stream.get_mut().write_all(requests.as_bytes()).unwrap();
        for (method, target, status) in batch {
            let is_head = method == &"HEAD";
            assert_eq!(read_status(&mut stream, is_head), *status, "{method} {target}");
        }
    }
}

/// Scrapes once; returns the body and the time it took.
fn scrape(service: &Service) -> (String, Duration) {
    let start = Instant::now();
    let request = "GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let answer = exchange(service.admin_addr, request);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    (body.to_owned(), start.elapsed())
}

#[test]
fn memory_series_and_scrapes_stay_small_under_any_requests() {
    let service = Service::start(&mut on_free_ports(env!("CARGO_BIN_EXE_qr-service"), "QR_"));
    let all: Vec<Exchange> = pictures().chain(errors()).chain(others()).collect();

    let (mut scrapes, mut peak) = (Vec::new(), 0);
    thread::scope(|scope| {
        let askers: Vec<_> = (0..50)
            .map(|part| {
                let mine: Vec<Exchange> = all.iter().skip(part).step_by(50).cloned().collect();
                let addr = service.addr;
                scope.spawn(move || ask(addr, &mine))
            })
            .collect();
        while !askers.iter().all(|asker| asker.is_finished()) {
            scrapes.push(scrape(&service));
            peak = peak.max(status_bytes(service.child.id(), "RssAnon:"));
            thread::sleep(Duration::from_millis(50));
        }
    });
    let (text, _) = scrape(&service);

    let asked = u64::try_from(all.len()).unwrap();
    let counted: u64 = text
        .lines()
        .filter(|line| line.starts_with("http_requests_total"))
        .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
        .sum();
    assert_eq!(counted, asked);
    let series = text.lines().filter(|line| !line.starts_with('#')).count();
    assert!(series < MOST_SERIES, "{series} series");
    let largest = scrapes.iter().map(|(body, _)| body.len()).max().unwrap();
    assert!(largest < MOST_SCRAPE_BYTES, "a scrape of {largest} bytes");
    assert!(peak < MOST_BYTES, "{peak} bytes resident");

    let mut times: Vec<Duration> = scrapes.iter().map(|(_, time)| *time).collect();
    times.sort();
    let median = times[times.len() / 2];
    println!("{peak} bytes resident at most, {series} series, {} bytes a scrape", text.len());
    println!("{} scrapes under load, median {median:?}", times.len());
}
