//! `load` against a server that answers every request and records it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::thread;

type Targets = Arc<Mutex<Vec<String>>>;

fn serve() -> (SocketAddr, Targets) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Targets::default();
    let seen = Arc::clone(&asked);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = Arc::clone(&seen);
            thread::spawn(move || answer_all(stream, &seen));
        }
    });
    (address, asked)
}

/// Answers until the connection ends.
fn answer_all(mut stream: TcpStream, seen: &Mutex<Vec<String>>) {
    let reader = BufReader::new(stream.try_clone().unwrap());
    for line in reader.lines().map_while(Result::ok) {
        if let Some(target) = line.strip_prefix("GET ") {
            seen.lock().unwrap().push(target.to_owned());
        }
        if line.is_empty()
            && stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nX-Served-By: us\r\n\r\nx")
                .is_err()
        {
            return;
        }
    }
}

fn load(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_load")).args(args).output().unwrap()
}

#[test]
fn it_requests_distinct_texts_at_the_rate_and_prints_a_summary() {
    let (address, asked) = serve();
    let url = format!("http://{address}/");
    let output = load(&["--url", &url, "--rate", "50", "--duration", "2s", "--connections", "4"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("Sending 50 requests per second") && said.contains("for 2s"), "{said}");
    let summary = [" answers, ", " 0 errors; ", "; served by "];
    assert!(summary.iter().all(|part| said.contains(part)), "{said}");
    let asked = asked.lock().unwrap();
    // One asks whether the server is there; a stalled machine may send fewer until the end.
    assert!((60..=101).contains(&asked.len()), "{}", asked.len());
    let distinct: BTreeSet<_> = asked.iter().collect();
    assert!(distinct.len() * 10 > asked.len() * 9, "{} of {}", distinct.len(), asked.len());
    assert!(asked.iter().all(|target| target.starts_with("/qrcode?text=")));
}

#[test]
fn an_error_is_one_line_that_names_the_setting() {
    let nobody = service_kit::free_address().unwrap();
    let url = format!("http://{nobody}");
    for (args, code, what) in [
        (vec!["--url", &url], 1, url.as_str()),
        (vec!["--rate", "0"], 2, "--rate"),
        (vec!["--duration", "soon"], 2, "--duration"),
    ] {
        let output = load(&args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.lines().count() == 1 && said.contains(what), "{said}");
    }
}
