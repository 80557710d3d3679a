//! The ways in which threads share connections: what is counted and logged.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufReader, Write};
use std::net::SocketAddr;
use std::process::Command;
use std::thread;

use service_kit::testing::{Service, connect, eventually, get, read_status};

const CLIENTS: usize = 12;
const REQUESTS: usize = 100;

fn start(mode: &str, threads: &str) -> Service {
    let mut command = Command::new(env!("CARGO_BIN_EXE_qr-service"));
    command.env_clear().env("QR_ADDR", "127.0.0.1:0").env("QR_ADMIN_ADDR", "127.0.0.1:0");
    command.env("QR_WORKER_THREADS", threads).env("QR_SERVE_MODE", mode);
    Service::start(command.env("QR_ACCESS_LOG", "all"))
}

/// Sends requests on several connections at once, each with an id of its own.
fn load(addr: SocketAddr) {
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            scope.spawn(move || {
                let mut stream = BufReader::new(connect(addr));
                for at in 0..REQUESTS {
                    let head = format!(
                        "GET /qrcode?text=a HTTP/1.1\r\nhost: x\r\nx-request-id: {client}-{at}\r\n\r\n"
                    );
                    stream.get_mut().write_all(head.as_bytes()).unwrap();
                    assert_eq!(read_status(&mut stream, false), 200);
                }
            });
        }
    });
}

#[test]
fn in_every_mode_a_scrape_has_the_sum_of_all_threads_and_the_log_whole_lines() {
    for mode in ["shared", "reuseport", "acceptor"] {
        let mut service = start(mode, "3");
        let (addr, admin_addr, pid) = (service.addr, service.admin_addr, service.child.id());
        // Read while it runs: lines that nobody reads are dropped in the end.
        let log = thread::spawn(move || (service.rest_of_log(), service.wait()));
        load(addr);
        let all = (CLIENTS * REQUESTS).to_string();
        let labels = "{route=\"/qrcode\",method=\"GET\",status=\"200\"}";
        let metrics = get(admin_addr, "/metrics");
        for line in [
            format!("http_requests_total{labels} {all}"),
            format!("http_request_duration_seconds_count{labels} {all}"),
            format!("qr_generate_seconds_count {all}"),
            format!("qr_png_bytes_count {all}"),
        ] {
            assert!(metrics.lines().any(|it| it == line), "{mode}: {line} in\n{metrics}");
        }
        assert!(metrics.contains("\"} 1200 # {request_id=\""), "{mode}: {metrics}");
        // The last answers may not have been noted when they arrived.
        eventually("none in flight", || {
            let metrics = get(admin_addr, "/metrics");
            let has = |wanted: &str| metrics.lines().any(|line| line == wanted);
            has("http_requests_in_flight 0") && has("http_connections_open 0")
        });

        assert!(Command::new("kill").arg(pid.to_string()).status().unwrap().success());
        let (log, code) = log.join().unwrap();
        assert_eq!(code, Some(0), "{mode}");
        let mut ids: Vec<String> = Vec::new();
        for line in log.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            if line["msg"] == "request" {
                ids.push(line["request_id"].as_str().unwrap().to_owned());
            }
        }
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), CLIENTS * REQUESTS, "{mode}");
        assert!(log.contains("drained"), "{mode}");
    }
}

#[test]
fn the_api_and_unknown_paths_are_answered_on_every_thread() {
    for mode in ["reuseport", "acceptor"] {
        let service = start(mode, "4");
        let mut kept: Vec<_> = (0..8).map(|_| BufReader::new(connect(service.addr))).collect();
        for stream in &mut kept {
            for (path, status) in [("/nowhere", 404), ("/qrcode?text=a", 200)] {
                let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
                stream.get_mut().write_all(head.as_bytes()).unwrap();
                assert_eq!(read_status(stream, false), status, "{mode} {path}");
            }
            if cfg!(feature = "api") {
                let head = "GET /v1/qr.svg?text=a HTTP/1.1\r\nhost: x\r\n\r\n";
                stream.get_mut().write_all(head.as_bytes()).unwrap();
                assert_eq!(read_status(stream, false), 200, "{mode}");
            }
        }
    }
}
