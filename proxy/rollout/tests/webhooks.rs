//! Who is told about a run, and which changes and persons the log names.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use service_kit::testing::serve;

use crate::support::prometheus::{Measured, Traffic};
use crate::support::{Place, Process, eventually};

/// Collects the posted bodies. It refuses the first post with 503.
#[derive(Clone)]
struct Receiver {
    addr: SocketAddr,
    bodies: Arc<Mutex<Vec<Value>>>,
}

impl Receiver {
    fn start() -> Self {
        let bodies: Arc<Mutex<Vec<Value>>> = Arc::default();
        let (seen, posts) = (Arc::clone(&bodies), AtomicUsize::new(0));
        let addr = serve(move |asked| {
            let body = asked.body()?;
            if posts.fetch_add(1, Ordering::Relaxed) == 0 {
                return asked.answer("HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n");
            }
            seen.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
            asked.answer("HTTP/1.1 204 Fine\r\nContent-Length: 0\r\n\r\n")
        });
        Receiver { addr, bodies }
    }

    /// The values of this key in the collected bodies.
    fn told(&self, key: &str) -> Vec<String> {
        let text = |body: &Value| body[key].as_str().unwrap_or_default().to_owned();
        self.bodies.lock().unwrap().iter().map(text).collect()
    }
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
    for (at, reason) in [(2, "answers ("), (4, "wrong (")] {
        assert!(reasons[at].starts_with(reason), "{reasons:?}");
    }

    let log = place.read("ramp.log");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let find = |event: &str| lines.iter().find(|line| line["event"] == event).unwrap();
    let started = ["actor", "reason"].map(|key| &find("started")[key]);
    assert_eq!(started, ["anna", "release 7"]);
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
    let is_soon = eventually(stopped) && began.elapsed() < Duration::from_secs(1);
    assert!(is_soon, "{:?}", began.elapsed());
    assert_eq!(hand.wait(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    place.succeeds(&["clear", "--reason", "again"]);

    let run = start_run(&place, "60s", &webhook);
    assert!(eventually(|| place.succeeds(&["status"]).contains("holding: step 1 of 2, 5%")));
    measured.set(Traffic { mismatches: 1000.0, ..Traffic::FINE });
    assert!(eventually(|| place.succeeds(&["status"]).contains("rolled_back")));
    assert_eq!((run.wait(), place.share().as_str()), (Some(3), "0"));
}
