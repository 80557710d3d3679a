//! Tests the service as a process, over real sockets.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use service_kit::testing::{
    Service, eventually, exchange, get, header, on_free_ports, read_status,
};

fn start(environment: &[(&str, &str)]) -> Service {
    Service::start(&mut command(environment))
}

fn command(environment: &[(&str, &str)]) -> Command {
    let mut command = on_free_ports(env!("CARGO_BIN_EXE_qr-service"), "QR_");
    command.envs(environment.iter().copied());
    command
}

/// Runs the service with a bad setting, until it exits.
fn fails(environment: &[(&str, &str)]) -> Output {
    command(environment).output().unwrap()
}

#[test]
fn a_valid_request_id_is_kept_and_an_invalid_one_replaced() {
    let service = start(&[]);
    let answer_to = |id: &str| {
        let request = format!(
            "GET /qrcode HTTP/1.1\r\nhost: x\r\nx-request-id: {id}\r\nconnection: close\r\n\r\n"
        );
        header(&exchange(service.addr, &request), "x-request-id").to_owned()
    };
    assert_eq!(answer_to("abc-1"), "abc-1");
    assert_eq!(answer_to(&"i".repeat(128)), "i".repeat(128));
    for wrong in ["", "two words", &"i".repeat(129)] {
        let made = answer_to(wrong);
        assert!(made.len() == 32 && made.bytes().all(|b| b.is_ascii_hexdigit()), "{made}");
    }
    assert_ne!(answer_to(""), answer_to(""));
}

#[test]
fn a_client_that_sends_its_head_slowly_is_disconnected() {
    let service = start(&[("QR_IDLE_TIMEOUT", "300ms")]);
    let mut stream = service.connect();
    stream.write_all(b"GET /qrcode?text=a HTTP/1.1\r\nhost:").unwrap();
    assert_eq!(stream.read(&mut [0; 100]).unwrap_or(0), 0);
    // Single bytes do not extend the timeout.
    let mut stream = service.connect();
    let start = Instant::now();
    while stream.write_all(b"G").is_ok() {
        std::thread::sleep(Duration::from_millis(50));
        assert!(start.elapsed() < Duration::from_secs(20), "still open");
    }
}

/// Returns the value of a metric; `name` includes its labels, if any.
fn metric(service: &Service, name: &str) -> u64 {
    let metrics = get(service.admin_addr, "/metrics");
    let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("{name} in\n{metrics}")).parse().unwrap()
}

#[test]
fn sigterm_turns_readiness_off_serves_on_for_the_delay_drains_and_exits_0() {
    let mut service = start(&[("QR_SHUTDOWN_DELAY", "700ms"), ("QR_DRAIN_TIMEOUT", "5s")]);
    eventually("ready", || get(service.admin_addr, "/readyz").starts_with("HTTP/1.1 200"));
    let mut idle = BufReader::new(service.connect());
    service.signal("TERM");
    eventually("not ready", || !get(service.admin_addr, "/readyz").starts_with("HTTP/1.1 200"));
    assert!(get(service.admin_addr, "/livez").starts_with("HTTP/1.1 200"));
    let late = get(service.addr, "/qrcode?text=late");
    assert!(late.starts_with("HTTP/1.1 200"), "served within the delay");
    // A request that is incomplete at the end of the delay is still answered.
    let mut slow = BufReader::new(service.connect());
    slow.get_mut().write_all(b"GET /qrcode?text=a HTTP/1.1\r\n").unwrap();
    eventually("not accepting", || TcpStream::connect(service.addr).is_err());
    slow.get_mut().write_all(b"host: x\r\n\r\n").unwrap();
    assert_eq!(read_status(&mut slow, false), 200);
    assert_eq!(idle.read(&mut [0; 1]).unwrap_or(0), 0, "idle connections are closed");
    assert_eq!(service.wait(), Some(0));
    assert!(service.rest_of_log().contains("drained"));
}

#[test]
fn a_bad_setting_is_reported_in_one_line_and_no_port_is_bound() {
    for (variable, value) in [
        ("QR_ADDR", "localhost"),
        ("QR_ADMIN_ADDR", "127.0.0.1:99999"),
        ("QR_ENGINE", "fastest"),
        ("QR_WORKER_THREADS", "-1"),
        ("QR_MAX_CONNECTIONS", "0"),
        ("QR_MAX_CONNECTIONS", "100000000"),
        ("QR_MAX_CONNECTIONS", "18446744073709551615"),
        ("QR_WORKER_THREADS", "100000"),
        ("QR_IDLE_TIMEOUT", "1000000years"),
        ("QR_SHUTDOWN_DELAY", "400days"),
        ("QR_WRITE_TIMEOUT", "10"),
        ("QR_WRITE_TIMEOUT", "0s"),
        ("QR_IDLE_TIMEOUT", "soon"),
        ("QR_SHUTDOWN_DELAY", "-1s"),
        ("QR_DRAIN_TIMEOUT", ""),
        ("QR_LOG_LEVEL", "loud"),
        ("QR_ACCESS_LOG", "some"),
        #[cfg(feature = "api")]
        ("QR_API_WORKERS", "65"),
        #[cfg(feature = "api")]
        ("QR_API_QUEUE", "0"),
        #[cfg(feature = "api")]
        ("QR_CORS_ORIGIN", "example.com"),
    ] {
        let output = fails(&[(variable, value)]);
        assert_eq!(output.status.code(), Some(2), "{variable}={value}");
        let error = String::from_utf8(output.stderr).unwrap();
        let flag = format!("--{}", variable[3..].to_lowercase().replace('_', "-"));
        assert_eq!(error.lines().count(), 1, "{error}");
        for part in [&flag, variable, &format!("invalid value {value:?}: ")] {
            assert!(error.contains(part), "{variable}={value}: {error}");
        }
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn logs_and_metrics_never_contain_the_text() {
    let mut service = start(&[("QR_ACCESS_LOG", "all"), ("QR_LOG_LEVEL", "trace")]);
    let request = "GET /qrcode?text=sesame HTTP/1.1\r\nhost: x\r\nx-request-id: id-1\r\n\
        traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\nconnection: close\r\n\r\n";
    assert!(exchange(service.addr, request).starts_with("HTTP/1.1 200"));
    get(service.addr, "/qrcode?text=sesame%FF");
    get(service.addr, "/sesame");
    assert!(!get(service.admin_addr, "/metrics").contains("sesame"));
    service.signal("TERM");
    service.wait();
    let log = service.rest_of_log();
    assert!(!log.contains("sesame"), "{log}");
    let line = log.lines().find(|line| line.contains("id-1")).unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
    for (name, value) in [("route", "/qrcode"), ("method", "GET"), ("level", "info")] {
        assert_eq!(line[name], value);
    }
    assert!(line["status"] == 200 && line["duration_seconds"].is_f64() && line["time"].is_string());
}

#[test]
fn a_log_that_nobody_reads_stops_nobody() {
    let mut service = start(&[("QR_ACCESS_LOG", "all")]);
    let mut stream = BufReader::new(service.connect());
    let request = b"GET /qrcode?text=a HTTP/1.1\r\nHost: x\r\n\r\n";
    // More lines than the pipe and the queue hold.
    for _ in 0..12_000 {
        stream.get_mut().write_all(request).unwrap();
        assert_eq!(read_status(&mut stream, false), 200);
    }
    assert!(metric(&service, "log_lines_dropped_total") > 0);
    service.signal("TERM");
    assert_eq!(service.wait(), Some(0));
    let log = service.rest_of_log();
    assert!(log.lines().all(|line| line.starts_with('{') && line.ends_with('}')), "whole lines");
}

#[test]
fn metrics_count_requests_and_pictures() {
    let service = start(&[]);
    for path in ["/qrcode?text=a", "/qrcode?text=b", "/qrcode", "/nowhere"] {
        get(service.addr, path);
    }
    let metrics = get(service.admin_addr, "/metrics");
    for line in [
        "http_requests_total{route=\"/qrcode\",method=\"GET\",status=\"200\"} 2",
        "http_requests_total{route=\"/qrcode\",method=\"GET\",status=\"400\"} 1",
        "http_requests_total{route=\"unmatched\",method=\"GET\",status=\"404\"} 1",
        "http_request_duration_seconds_count{route=\"/qrcode\",method=\"GET\",status=\"200\"} 2",
        "http_connections_limited_total 0",
        "http_connections_shed_total 0",
        "http_connections_timed_out_total{phase=\"idle\"} 0",
        "http_connections_timed_out_total{phase=\"write\"} 0",
        "qr_generate_seconds_count 2",
        "qr_png_bytes_count 2",
    ] {
        assert!(metrics.lines().any(|l| l == line), "{line} in\n{metrics}");
    }
    for name in [
        "http_connections_open ",
        "http_requests_in_flight ",
        "qr_build_info{version=",
        "process_cpu_seconds_total ",
        "process_resident_memory_bytes ",
        "process_open_fds ",
        "process_max_fds ",
        "process_start_time_seconds ",
    ] {
        assert!(metrics.lines().any(|l| l.starts_with(name)), "{name} in\n{metrics}");
    }
    assert!(metrics.ends_with("# EOF\n"));
}

#[test]
fn help_explains_every_setting() {
    let help = String::from_utf8(command(&[]).arg("--help").output().unwrap().stdout).unwrap();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut settings = 0;
    for (at, _) in help.match_indices("[env: ") {
        let variable = help[at + 6..].split(['=', ']']).next().unwrap();
        let flag = format!("--{}", variable[3..].to_lowercase().replace('_', "-"));
        assert!(help.contains(&flag), "{flag}");
        settings += 1;
    }
    let of_api = 5;
    assert_eq!(settings, if cfg!(feature = "api") { 11 + of_api } else { 11 });
}
