//! Compares the JSON lines that `edge` prints with those that nginx itself would write, and tests what `edge` does if
//! nobody reads them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, OpenOptions, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use service_kit::testing::{Process, built, eventually, exchange, get, has_all};
use tempfile::TempDir;

fn folder() -> TempDir {
    let readable = Permissions::from_mode(0o755);
    tempfile::Builder::new().permissions(readable).tempdir().unwrap()
}

/// Sends the signal and returns the exit code.
fn end(process: Process, signal: Signal) -> Option<i32> {
    process.signal(signal);
    process.wait()
}

/// `edge` for the log in this folder, with a pipe for its output.
fn edge(folder: &TempDir) -> Command {
    let mut command = Command::new(built("carve"));
    command.args(["edge", "--admin-addr", "127.0.0.1:0", "--status-url", "http://127.0.0.1:9/"]);
    command.arg("--log").arg(folder.path().join("edge.log"));
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// Starts `edge`. Also returns its output, read up to the line "listening", and the address of its metrics.
fn start(command: &mut Command) -> (Process, BufReader<impl Read + use<>>, SocketAddr) {
    let mut edge = Process(command.spawn().unwrap());
    let mut output = BufReader::new(edge.0.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("\"msg\":\"listening\"") {
        line.clear();
        assert!(output.read_line(&mut line).unwrap() > 0, "it ended");
    }
    let addr = line.split("\"admin_addr\":\"").nth(1).unwrap().split('"').next().unwrap();
    let addr = addr.parse().unwrap();
    (edge, output, addr)
}

fn metric(addr: SocketAddr, name: &str) -> u64 {
    let text = get(addr, "/metrics");
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("no {name}: {text}")).parse().unwrap()
}

/// Lines of requests as nginx writes them, with numbers as ids.
fn lines(ids: std::ops::Range<usize>) -> String {
    let line = |id| {
        format!(
            "1732250000.123\tqrcode\tnew\tnew\t200\t0.001\t512\t10.0.0.1:80\tGET\t{id:0128}\t\t/qrcode\t10.0.0.9\t200\t0.000\t\
             0.001\t0.001\n"
        )
    };
    ids.map(line).collect()
}

fn append(folder: &TempDir, text: &str) {
    let log = folder.path().join("edge.log");
    let mut log = OpenOptions::new().append(true).create(true).open(log).unwrap();
    log.write_all(text.as_bytes()).unwrap();
}

#[test]
fn output_that_nobody_reads_delays_no_counting_and_what_is_left_out_is_counted() {
    const REQUESTS: usize = 100_000; // 21 MiB of log, of which 16 MiB are kept
    let folder = folder();
    append(&folder, "");
    let (edge, mut output, addr) = start(edge(&folder).args(["--keep-mib", "16"]));
    let counted = || metric(addr, "edge_lines_total") as usize;
    for from in (0..REQUESTS).step_by(REQUESTS / 10) {
        append(&folder, &lines(from..from + REQUESTS / 10));
    }
    eventually("all is counted", || counted() == REQUESTS);
    let kept = (15 << 20)..(17 << 20);
    eventually("the rest is left out", || kept.contains(&metric(addr, "edge_unprinted_bytes")));
    let left_out = || metric(addr, "edge_left_out_lines_total") as usize;
    assert!((REQUESTS / 10..REQUESTS / 3).contains(&left_out()), "{}", left_out());

    // The output is read again.
    let (mut printed, mut said, mut last) = (0, 0, -1);
    while printed + said < REQUESTS {
        let mut line = String::new();
        assert!(output.read_line(&mut line).unwrap() > 0, "{printed} printed, {said} left out");
        let after = |name: &str| line.split(name).nth(1);
        if let Some(id) = after("\"request_id\":\"") {
            let id: i64 = id[..128].parse().unwrap();
            assert!(id > last, "lines stay in order");
            (printed, last) = (printed + 1, id);
        } else if let Some(lines) = after("\"lines\":") {
            said += lines.trim_end().trim_end_matches('}').parse::<usize>().unwrap();
        }
    }
    assert_eq!((printed + said, said, last), (REQUESTS, left_out(), REQUESTS as i64 - 1));
    eventually("all is printed", || metric(addr, "edge_unprinted_bytes") == 0);
    assert_eq!(end(edge, Signal::TERM), Some(0));
}

#[test]
fn a_file_that_cannot_be_written_ends_it_with_one_line() {
    let output = edge(&folder()).args(["--json-file", "/no/such/file"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    assert!(said.contains("EDGE_JSON_FILE: /no/such/file: "), "{said}");
}

/// The part of `nginx.conf` from one line until before another.
fn part_of_nginx_conf(from: &str, to: &str) -> &'static str {
    let text = include_str!("../../nginx.conf");
    let at = text.find(from).unwrap();
    &text[at..at + text[at..].find(to).unwrap()]
}

/// The configuration with which nginx writes the same lines itself. The log of `nginx.conf` has raw statuses and times.
const JSON: &str = r#"
    map $status $log_level { default info; "~^5" error; }
    map $status $log_status { default 0; "~^[1-9]" $status; }
    map $side $log_side { default $side; "" none; }
    map "$time_iso8601 $msec" $log_time { "~^(.{19})(.{6}) \d+(\.\d+)$" $1$3$2; }
    log_format json escape=json '{"time":"$log_time","level":"$log_level","msg":"request",'
        '"service":"nginx","request_id":"$checked_request_id","trace_id":"$trace_id",'
        '"route":"$route","method":"$request_method","status":$log_status,'
        '"duration_seconds":$request_time,"side":"$log_side","remote_addr":"$remote_addr",'
        '"bytes_sent":$bytes_sent,"upstream_addr":"$upstream_addr",'
        '"upstream_status":"$upstream_status","upstream_connect_seconds":"$upstream_connect_time",'
        '"upstream_header_seconds":"$upstream_header_time",'
        '"upstream_response_seconds":"$upstream_response_time"}';
    access_log json.log json;
"#;

fn both_logs(addr: SocketAddr) -> String {
    let ids = part_of_nginx_conf("map $http_x_request_id $checked_request_id", "# Each location");
    let log = part_of_nginx_conf("map \"$server_name$uri\" $route", "access_log edge");
    let log = log.replace("include paths.conf;", r#""~^/l/[^/]+$" /l/:id;"#);
    format!(
        r#"
daemon off;
pid nginx.pid;
error_log stderr emerg;
worker_processes 1;
events {{ worker_connections 64; }}
http {{
    {ids} {log} {JSON}
    access_log edge.log edge;
    uninitialized_variable_warn off;
    client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d; scgi_temp_path e;
    server {{
        listen {addr};
        location / {{ set $side old; set $carved a; set $arm old; return 204; }}
        location /fails {{ set $side new; error_page 502 = @fallback; proxy_pass http://127.0.0.1:1; }}
        location @fallback {{ set $side fallback; rewrite ^ /old break; proxy_pass http://{addr}; }}
        location /broken {{ set $side none; return 500; }}
        location /silent {{ return 444; }}
    }}
}}
"#,
        log = log
            .replace("include app-paths.conf;", "")
            .replace("$logged_route", "$carved")
            .replace("$chosen_arm", "")
            .replace("$key_hash", "")
            .replace("$spelling", "")
    )
}

#[test]
fn lines_are_those_that_nginx_would_write() {
    let addr = service_kit::free_address().unwrap();
    let folder = folder();
    fs::write(folder.path().join("nginx.conf"), both_logs(addr)).unwrap();
    let mut nginx = Command::new("nginx");
    nginx.args(["-e", "stderr", "-c", "nginx.conf", "-p"]).arg(folder.path());
    let nginx = Process(nginx.env("TZ", "UTC").spawn().unwrap());
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
        exchange(addr, &line);
    }
    exchange(addr, "TRACE / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    exchange(addr, "G\"T / HTTP/1.1\r\n\r\n");
    exchange(addr, "\x16\x03\x01\x02\x00\x01\r\n\r\n");
    assert_eq!(end(nginx, Signal::QUIT), Some(0));

    let file = folder.path().join("requests.log");
    let (edge, _output, metrics) = start(edge(&folder).arg("--json-file").arg(&file));
    eventually("all is printed", || {
        metric(metrics, "edge_lines_total") > 0 && metric(metrics, "edge_unprinted_bytes") == 0
    });
    assert_eq!(metric(metrics, "edge_malformed_lines_total"), 0);
    assert_eq!(end(edge, Signal::TERM), Some(0));
    let json = fs::read_to_string(folder.path().join("json.log")).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().collect::<Vec<_>>(), json.lines().collect::<Vec<_>>());
    assert!(json.lines().count() > 10, "{json}");
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    has_all(&text, &["/l/:id", r#"\"quoted\\and\"\\"#, trace, "\"fallback\"", "\"error\""]);
}
