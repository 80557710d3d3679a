//! Tests the service on a Unix socket, as a process.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use service_kit::testing::{Service, get, read_status};
use tempfile::TempDir;

const PICTURE: &str = "GET /qrcode?text=a HTTP/1.1\r\nhost: x\r\n\r\n";

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("qr.sock");
    (folder, socket)
}

fn command(addr: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_qr-service"));
    command.env_clear().env("QR_ADDR", addr).env("QR_ADMIN_ADDR", "127.0.0.1:0");
    command
}

fn on(socket: &Path) -> String {
    format!("unix:{}", socket.display())
}

fn dial(socket: &Path) -> BufReader<UnixStream> {
    let stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    BufReader::new(stream)
}

/// Sends a request; returns the status.
fn ask(stream: &mut BufReader<UnixStream>, request: &str) -> u16 {
    stream.get_mut().write_all(request.as_bytes()).unwrap();
    read_status(stream, false)
}

#[test]
fn a_socket_answers_as_the_port_beside_it() {
    let (_folder, socket) = folder();
    let service = Service::start(&mut command(&format!("127.0.0.1:0,{}", on(&socket))));
    let answer = |text: String| {
        let head = text.lines().filter(|line| !line.starts_with("x-request-id: "));
        let head = head.filter(|line| !line.starts_with("date: "));
        head.collect::<Vec<_>>().join("\n")
    };
    for path in ["/qrcode?text=a", "/qrcode", "/qrcode?text=%FF", "/nothing"] {
        let mut stream = UnixStream::connect(&socket).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let local = String::from_utf8_lossy(&bytes).into_owned();
        assert!(local.starts_with("HTTP/1.1 "), "{local}");
        assert_eq!(answer(local), answer(get(service.addr, path)), "{path}");
    }
    // On a connection that stays open, one by one and pipelined.
    let mut stream = dial(&socket);
    for request in [PICTURE, "GET / HTTP/1.1\r\nhost: x\r\n\r\n", PICTURE] {
        ask(&mut stream, request);
    }
    stream.get_mut().write_all(PICTURE.repeat(3).as_bytes()).unwrap();
    for _ in 0..3 {
        assert_eq!(read_status(&mut stream, false), 200);
    }
}
