//! Who is told about a run, and which changes and persons the log names.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use support::prometheus::{Measured, Traffic};
use support::{Place, Process, eventually};

/// Collects the posted bodies. It refuses the first post with 503.
#[derive(Clone)]
struct Receiver {
    addr: SocketAddr,
    bodies: Arc<Mutex<Vec<Value>>>,
}

impl Receiver {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let receiver = Receiver { addr: listener.local_addr().unwrap(), bodies: Arc::default() };
        let bodies = Arc::clone(&receiver.bodies);
        // Ends with the test process.
        thread::spawn(move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                let body = body(&stream);
                let status = if number == 0 { "503 Later" } else { "204 Fine" };
                if number > 0 {
                    bodies.lock().unwrap().push(serde_json::from_str(&body).unwrap());
                }
                let answer =
                    format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                (&stream).write_all(answer.as_bytes()).unwrap();
            }
        });
        receiver
    }

    /// The values of this key in the collected bodies.
    fn told(&self, key: &str) -> Vec<String> {
        let text = |body: &Value| body[key].as_str().unwrap_or_default().to_owned();
        self.bodies.lock().unwrap().iter().map(text).collect()
    }
}

fn body(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length) = (String::from("-"), 0);
    while !line.trim_end().is_empty() {
        line.clear();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}

/// Starts a run of two steps with one gate in the background.
fn start_run(place: &Place, hold: &str, webhooks: &str) -> Process {
    let gates = place.beside("gates.toml");
    let gate = "overlap = \"1s\"\n[[gate]]\nname = \"wrong\"\n\
                query = 'sum(shadow_comparisons_total{result=\"mismatch\"})'\ncompare = \"==\"\nlimit = 0\n\
                judge = \"at once\"\n\
                [[gate]]\nname = \"answers\"\nquery = 'sum(edge_requests_total{side=\"new\"})'\n\
                compare = \">\"\nlimit = 0\notherwise = \"wait\"\n";
    fs::write(&gates, gate).unwrap();
    let gates = gates.display().to_string();
    let args = ["ramp", "--steps", "5,50", "--every", "100ms", "--hold", hold, "--gates", &gates];
    let mut command = place.ramp(&args);
    command.args(["--actor", "anna", "--reason", "release 7", "--patience", "60s"]);
    command.env("RAMP_WEBHOOKS", webhooks).stdout(Stdio::null());
    Process(command.spawn().unwrap())
}

#[test]
fn a_run_is_told_of_from_its_begin_to_its_end_and_by_whom() {
    let place = Place::new();
    let measured = Measured::fine(&place);
    let (plain, slack) = (Receiver::start(), Receiver::start());
    let webhooks = format!("http://{}/hook,slack:http://{}/services/x", plain.addr, slack.addr);
    assert_eq!(start_run(&place, "500ms", &webhooks).wait(), Some(0));
    assert_eq!(plain.told("event"), ["begin", "step", "step", "end"]);
    let first = plain.bodies.lock().unwrap()[0].clone();
    for (key, value) in
        [("route", "qrcode"), ("actor", "anna"), ("reason", "release 7"), ("phase", "holding")]
    {
        assert_eq!(first[key], value, "{first}");
    }
    assert_eq!(first["share_percent"], 0.0);
    let said = "qrcode: done, 50% on the new side; by anna";
    assert_eq!(plain.told("text").last().unwrap(), said);
    // Slack gets a text and nothing else.
    assert_eq!(slack.told("text"), plain.told("text"));
    assert_eq!(slack.bodies.lock().unwrap()[0].as_object().unwrap().len(), 1);

    // This run waits and then goes back.
    place.succeeds(&["split", "0", "--reason", "again"]);
    let waiting = Receiver::start();
    let mut hidden = Traffic { down: "edge", ..Traffic::FINE };
    measured.set(hidden);
    thread::sleep(Duration::from_millis(500));
    let run = start_run(&place, "500ms", &format!("http://{}/hook", waiting.addr));
    assert!(eventually(|| waiting.told("event").contains(&"waiting".to_owned())));
    hidden.mismatches = 1000.0;
    measured.set(hidden);
    assert_eq!(run.wait(), Some(3));
    assert_eq!(waiting.told("event"), ["begin", "step", "waiting", "rollback", "end"]);
    let reasons = waiting.told("reason");
    assert!(
        reasons[2].starts_with("answers (") && reasons[4].starts_with("wrong ("),
        "{reasons:?}"
    );

    let log = place.read("ramp.log");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let find = |event: &str| lines.iter().find(|line| line["event"] == event).unwrap();
    assert_eq!(
        (&find("started")["actor"], &find("started")["reason"]),
        (&"anna".into(), &"release 7".into())
    );
    let set = find("set");
    assert!(set["reason"].as_str().unwrap().ends_with("mirrored; again"), "{set}");
    assert!(lines.iter().all(|line| line["actor"].is_string()), "{log}");
}

#[test]
fn a_rollback_waits_for_no_webhook() {
    let place = Place::new();
    let measured = Measured::fine(&place);
    place.succeeds(&["split", "50"]);
    // It accepts the connection but never answers.
    let hangs = TcpListener::bind("127.0.0.1:0").unwrap();
    let webhook = format!("http://{}/", hangs.local_addr().unwrap());
    let stopped = || place.nginx().dir.join("stop/qrcode").exists();
    let began = Instant::now();
    let mut command = place.ramp(&["rollback", "--webhook", &webhook]);
    let hand = Process(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    assert!(
        eventually(stopped) && began.elapsed() < Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(hand.wait(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    place.succeeds(&["clear", "--reason", "again"]);

    let run = start_run(&place, "60s", &webhook);
    assert!(eventually(|| place.succeeds(&["status"]).contains("holding: step 1 of 2, 5%")));
    measured.set(Traffic { mismatches: 1000.0, ..Traffic::FINE });
    assert!(eventually(|| place.succeeds(&["status"]).contains("rolled_back")));
    assert_eq!((run.wait(), place.share().as_str()), (Some(3), "0"));
}
