//! `edge pipe` around a real nginx.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use service_kit::testing::eventually;
use tempfile::TempDir;

const CONFIGURATION: &str = r#"
daemon off;
pid nginx.pid;
error_log stderr error;
worker_processes 1;
events { worker_connections 64; }
http {
    log_format long "request $uri $http_x_long";
    access_log /dev/stdout long;
    keepalive_requests 1000000;
    client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d; scgi_temp_path e;
    server { listen ADDR; location / { return 204; } }
}
"#;

fn pipe(folder: &TempDir, configuration: &str) -> Command {
    fs::write(folder.path().join("nginx.conf"), configuration).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_edge"));
    command.args(["pipe", "nginx", "-e", "stderr", "-c", "nginx.conf", "-p"]).arg(folder.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

fn folder() -> TempDir {
    let readable = Permissions::from_mode(0o755);
    tempfile::Builder::new().permissions(readable).tempdir().unwrap()
}

/// Sends one request after the other on one connection; the longest wait for an answer.
fn ask(addr: SocketAddr, count: usize) -> Duration {
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.set_nodelay(true).unwrap();
    let request = format!("GET / HTTP/1.1\r\nHost: a\r\nX-Long: {}\r\n\r\n", "a".repeat(900));
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut longest = Duration::ZERO;
    for number in 0..count {
        let asked = Instant::now();
        stream.write_all(request.as_bytes()).unwrap();
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            assert!(reader.read_line(&mut line).unwrap() > 0, "closed after {number}");
        }
        longest = longest.max(asked.elapsed());
    }
    longest
}

#[test]
fn a_log_that_nobody_reads_delays_no_client() {
    const REQUESTS: usize = 20_000; // 18 MB of lines
    let addr = service_kit::free_address().unwrap();
    let folder = folder();
    let mut nginx =
        pipe(&folder, &CONFIGURATION.replace("ADDR", &addr.to_string())).spawn().unwrap();
    eventually("nginx listens", || TcpStream::connect(addr).is_ok());
    let longest = ask(addr, REQUESTS);
    assert!(longest < Duration::from_secs(2), "{longest:?}");

    let mut log = nginx.stdout.take().unwrap();
    let pid = nginx.id().to_string();
    let quit = Command::new("kill").args(["-s", "QUIT", &pid]).status().unwrap();
    assert!(quit.success());
    let mut text = String::new();
    log.read_to_string(&mut text).unwrap();
    assert!(nginx.wait().unwrap().success());
    let (lines, notices): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.starts_with("request /"));
    assert!(lines.iter().all(|line| line.ends_with(" -") || line.ends_with("aaa")));
    let left_out: Vec<usize> = notices
        .iter()
        .filter_map(|line| line.split("\"lines\":").nth(1)?.trim_end_matches('}').parse().ok())
        .collect();
    assert_eq!(left_out.len(), notices.len(), "{notices:?}");
    assert!(lines.len() > 4000, "the first ones waited: {}", lines.len());
    assert_eq!(lines.len() + left_out.iter().sum::<usize>(), REQUESTS);
}

#[test]
fn a_log_in_a_file_has_what_the_output_would_have() {
    let folder = folder();
    let log = folder.path().join("run.log");
    fs::write(&log, "before\n").unwrap();
    let echo = |log: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_edge"));
        command.args(["pipe", "--log", log, "sh", "-c", "echo one; echo two >&2; exit 3"]);
        command.output().unwrap()
    };
    let output = echo(log.to_str().unwrap());
    assert_eq!((output.status.code(), output.stdout.len(), output.stderr.len()), (Some(3), 0, 0));
    eventually("all is written", || {
        fs::read_to_string(&log).unwrap().lines().eq(["before", "one", "two"])
    });
    let output = echo("/no/such/file");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("/no/such/file"), "{said}");
}

/// The part of `nginx.conf` from one line to before another.
fn part_of_nginx_conf(from: &str, to: &str) -> &'static str {
    let text = include_str!("../../nginx.conf");
    let at = text.find(from).unwrap();
    &text[at..at + text[at..].find(to).unwrap()]
}

/// An nginx that writes each line twice: as JSON itself, and for `edge pipe`.
fn both_logs(addr: SocketAddr) -> String {
    let ids = part_of_nginx_conf("map $http_x_request_id $checked_request_id", "# Each location");
    let logs = part_of_nginx_conf("# The log has templates", "# Every request is logged.");
    let logs = logs.replace("include paths.conf;", r#""~^/l/[^/]+$" /l/:id;"#);
    format!(
        r#"
daemon off;
pid nginx.pid;
error_log stderr emerg;
worker_processes 1;
events {{ worker_connections 64; }}
http {{
    {ids} {logs}
    access_log /dev/stdout compact buffer=4k flush=1s;
    access_log json.log json buffer=4k flush=1s;
    uninitialized_variable_warn off;
    client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d; scgi_temp_path e;
    server {{
        listen {addr};
        location / {{ set $side old; return 204; }}
        location /fails {{ set $side new; error_page 502 = @fallback; proxy_pass http://127.0.0.1:1; }}
        location @fallback {{ set $side fallback; rewrite ^ /old break; proxy_pass http://{addr}; }}
        location /broken {{ set $side none; return 500; }}
        location /silent {{ return 444; }}
    }}
}}
"#,
        logs = logs.replace("include app-paths.conf;", "")
    )
}

/// Sends bytes on a connection of their own, and reads until it is closed.
fn send(addr: SocketAddr, bytes: &[u8]) {
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.write_all(bytes).unwrap();
    let _ = stream.read_to_end(&mut Vec::new());
}

#[test]
fn lines_about_requests_are_those_that_nginx_would_write() {
    let addr = service_kit::free_address().unwrap();
    let folder = folder();
    let mut nginx = pipe(&folder, &both_logs(addr)).env("TZ", "UTC").spawn().unwrap();
    eventually("nginx listens", || TcpStream::connect(addr).is_ok());
    let parent = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for (path, header) in [
        ("/l/4711?text=secret", "X-Request-Id: plain-1"),
        ("/l/%09%22%0a", r#"X-Request-Id: "quoted\and"\"#),
        ("/fails", parent),
        ("/broken", "X-Request-Id: with a blank"),
        ("/silent", "traceparent: 00-\"\\-1-1"),
        ("/caf\u{e9}", "X-Request-Id: caf\u{e9}"),
        ("/a\tb", "X-Request-Id: a\tb"),
    ] {
        let line =
            format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{header}\r\n\r\n");
        send(addr, line.as_bytes());
    }
    send(addr, b"TRACE / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    send(addr, b"G\"T / HTTP/1.1\r\n\r\n");
    send(addr, b"\x16\x03\x01\x02\x00\x01\r\n\r\n");

    let pid = nginx.id().to_string();
    assert!(Command::new("kill").args(["-s", "QUIT", &pid]).status().unwrap().success());
    let mut text = String::new();
    nginx.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(nginx.wait().unwrap().success());
    let json = fs::read_to_string(folder.path().join("json.log")).unwrap();
    assert_eq!(text.lines().collect::<Vec<_>>(), json.lines().collect::<Vec<_>>());
    assert!(json.lines().count() > 10, "{json}");
    for part in [
        "/l/:id",
        r#"\"quoted\\and\"\\"#,
        "4bf92f3577b34da6a3ce929d0e0e4736",
        "\"fallback\"",
        "\"error\"",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[test]
fn the_programs_messages_and_exit_code_are_passed_on() {
    let folder = folder();
    let output = pipe(&folder, "nonsense;").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("unknown directive \"nonsense\""), "{said}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_edge"));
    let output = command.args(["pipe", "/no/such"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(said.contains("/no/such"), "{said}");
}
