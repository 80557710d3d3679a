//! Load on the service: many clients that wait, clients that leave, bodies of every size and framing.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use service_kit::testing::{Service, connect, eventually};

use crate::support::clients::{
    LINES, body, bytes, fill, head, leave, put, receive, serves, waiting,
};
use crate::support::{metric, relay_service};

#[test]
fn those_who_leave_while_they_wait_are_forgotten() {
    let service = relay_service(&[]);
    let receiver = receive(service.addr, "a");
    let mut sender = connect(service.addr);
    sender.write_all(put("b", "hello").as_bytes()).unwrap();
    eventually("both wait", || waiting(&service) == 2.0);
    drop((receiver, sender));
    eventually("both are forgotten", || waiting(&service) == 0.0);
}

#[test]
fn a_waiting_sender_with_full_buffers_that_leaves_is_forgotten() {
    let service = relay_service(&[]);
    for (version, is_reset) in [("HTTP/1.1", false), ("HTTP/1.1", true), ("HTTP/1.0", false)] {
        let mut sender = connect(service.addr);
        let head = head("a", "content-length: 1000000000").replace("HTTP/1.1", version);
        sender.write_all(head.as_bytes()).unwrap();
        eventually("it waits", || waiting(&service) == 1.0);
        fill(&mut sender);
        leave(sender, is_reset);
        eventually("it is forgotten", || waiting(&service) == 0.0);
    }
}

#[test]
fn probes_are_no_part_of_a_senders_lines() {
    let service = relay_service(&[]);
    let file = tempfile::NamedTempFile::new().unwrap();
    let sent = bytes(40 << 20);
    std::fs::write(file.path(), &sent).unwrap();
    let url = format!("http://{}/p/a", service.addr);
    for version in ["--http1.1", "--http1.0", "--http2-prior-knowledge"] {
        let curl = Command::new("curl")
            .args(["--silent", "--show-error", "--include", "--max-time", "60", version, "-T"])
            .args([file.path().to_str().unwrap(), &url])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        eventually("it waits", || waiting(&service) == 1.0);
        // It is probed twice meanwhile, as its buffers are full.
        std::thread::sleep(Duration::from_millis(1300));
        assert!(body(receive(service.addr, "a")) == sent);
        let said = String::from_utf8(curl.wait_with_output().unwrap().stdout).unwrap();
        let (head, lines) = said.rsplit_once("\r\n\r\n").unwrap();
        assert_eq!(lines, LINES, "{version}");
        assert!(head.contains("content-type: text/plain\r\n"), "{head}");
    }
}

/// Sends `sent` to `n` receivers, one over HTTP/1.0 and each later than the one before, and checks what each got.
fn relays(service: &Service, key: &str, n: usize, chunk: Option<usize>, sent: &[u8]) {
    let target = format!("{key}?n={n}");
    let receivers: Vec<_> = (0..n)
        .map(|number| {
            let mut receiver = connect(service.addr);
            let version = if number == 0 { "1.0" } else { "1.1" };
            write!(
                receiver,
                "GET /p/{target} HTTP/{version}\r\nhost: x\r\nconnection: close\r\n\r\n"
            )
            .unwrap();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(100 * number as u64));
                body(receiver)
            })
        })
        .collect();
    let mut sender = connect(service.addr);
    match chunk {
        None => {
            let head = head(&target, &format!("content-length: {}", sent.len()));
            sender.write_all(&[head.as_bytes(), sent].concat()).unwrap();
        }
        Some(size) => {
            let mut request = head(&target, "transfer-encoding: chunked").into_bytes();
            for chunk in sent.chunks(size) {
                request.extend(format!("{:x}\r\n", chunk.len()).bytes());
                request.extend_from_slice(chunk);
                request.extend_from_slice(b"\r\n");
            }
            request.extend_from_slice(b"0\r\n\r\n");
            sender.write_all(&request).unwrap();
        }
    }
    let lines = String::from_utf8(body(sender)).unwrap();
    assert!(lines.contains("received successfully."), "{lines}");
    for (number, receiver) in receivers.into_iter().enumerate() {
        let got = receiver.join().unwrap();
        let got = if chunk.is_some() && number > 0 { unchunked(&got) } else { got };
        assert!(got == sent, "{target}: receiver {number} got {} bytes", got.len());
    }
}

fn unchunked(mut chunks: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let size = httparse::parse_chunk_size(chunks).unwrap();
        let httparse::Status::Complete((start, size)) = size else { panic!("no chunk") };
        let (chunk, rest) = chunks[start..].split_at(usize::try_from(size).unwrap());
        bytes.extend_from_slice(chunk);
        chunks = rest.strip_prefix(b"\r\n").unwrap();
        if size == 0 {
            assert!(chunks.is_empty());
            return bytes;
        }
    }
}

#[test]
fn bytes_come_through_whole() {
    let service = relay_service(&[]);
    for size in [0, 1, 16_383, 16_384, 65_537, 20_000_000] {
        let sent = bytes(size);
        for n in [1, 3] {
            for chunk in [None, Some(1000), Some(70_000), Some(1 << 20)] {
                let key = format!("{size}-{n}-{}", chunk.unwrap_or_default());
                // Chunks of 1000 bytes are 20,000 pieces.
                let sent = if chunk == Some(1000) { &sent[..size.min(500_000)] } else { &sent };
                relays(&service, &key, n, chunk, sent);
            }
        }
    }
}

#[test]
fn halves_over_http_1_and_2_pair() {
    let service = relay_service(&[]);
    let folder = tempfile::tempdir().unwrap();
    let (file, copy) = (folder.path().join("file"), folder.path().join("copy"));
    let sent = bytes(5_000_000);
    std::fs::write(&file, &sent).unwrap();
    let curl = |version: &str, key: &str| {
        let mut command = Command::new("curl");
        command.args(["--silent", "--show-error", "--max-time", "60", version]);
        command.arg(format!("http://{}/p/{key}", service.addr)).stdout(Stdio::null());
        command
    };
    let (one, two) = ("--http1.1", "--http2-prior-knowledge");
    for (sends, receives, n) in [(one, two, 1), (two, one, 1), (two, two, 1), (one, two, 2)] {
        let key = format!("{sends}{receives}?n={n}");
        let mut receiver = curl(receives, &key).arg("-o").arg(&copy).spawn().unwrap();
        let mut second = (n == 2).then(|| curl(one, &key).spawn().unwrap());
        let status = curl(sends, &key).arg("-T").arg(&file).status().unwrap();
        assert!(status.success(), "{key}");
        assert!(receiver.wait().unwrap().success(), "{key}");
        assert!(second.as_mut().is_none_or(|one| one.wait().unwrap().success()), "{key}");
        assert!(std::fs::read(&copy).unwrap() == sent, "{key}");
    }
    // Each form comes before its receiver. Over HTTP/2, more bytes are then ready at once than a part's head may have.
    for sends in [one, two] {
        let mut form = curl(sends, sends);
        let mut sender = form.arg("-F").arg(format!("input=@{}", file.display())).spawn().unwrap();
        eventually("the sender waits", || waiting(&service) == 1.0);
        std::thread::sleep(Duration::from_millis(300));
        let status = curl(one, sends).arg("-o").arg(&copy).status().unwrap();
        assert!(status.success() && sender.wait().unwrap().success(), "{sends}");
        assert!(std::fs::read(&copy).unwrap() == sent, "{sends}");
    }
}

/// Only `make test-all` runs these.
mod nightly {
    use super::*;

    #[test]
    fn the_heads_of_those_who_wait_have_a_bound_together() {
        assert_eq!(service_kit::connections_up_to(7_000), 7_000);
        let service = relay_service(&[]);
        let more = "x".repeat(30_000);
        let ask = |number: usize| {
            let mut stream = connect(service.addr);
            write!(stream, "GET /p/{number} HTTP/1.1\r\nhost: x\r\nx: {more}\r\n\r\n").unwrap();
            stream
        };
        let clients: Vec<_> = (0..4_000).map(ask).collect();
        eventually("they wait", || waiting(&service) == 4_000.0);
        let memory = metric(&service, "process_resident_memory_bytes");
        assert!(memory < 350e6, "{memory} bytes");
        let more: Vec<_> = (4_000..5_000).map(ask).collect();
        let mut answer = [0; 1024];
        let count = more.last().unwrap().read(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer[..count]);
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        assert!(answer.ends_with("[ERROR] Too many bytes are waiting.\n"), "{answer}");
        drop((clients, more));
        eventually("they are forgotten", || waiting(&service) == 0.0);
        serves(&service, "after");
    }
}
