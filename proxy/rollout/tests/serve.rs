//! `carve serve` on a cluster: runs behind a simulated Kubernetes API, in front of a real nginx and Prometheus.
//! `make deploy-test` tests the same on a real cluster.

use std::fs;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use service_kit::testing::{has_all, holds_within};

use crate::support::api::{Api, follow_copy, from_elsewhere, in_cluster};
use crate::support::prometheus::{Measured, Traffic};
use crate::support::{Place, Process, built, eventually, gates, route_with, stderr, stdout};

/// A proxy that follows the ConfigMap, at 0 % and with traffic that passes every gate.
struct Stage {
    place: Place,
    api: Api,
    measured: Measured,
    _followers: [Process; 2],
}

impl Stage {
    fn new(rest_of_route: &str) -> Self {
        let route = route_with(rest_of_route);
        let place = Place::with(std::slice::from_ref(&route));
        let api = Api::start();
        fs::create_dir(place.beside("routes")).unwrap();
        fs::write(place.beside("routes/qrcode.toml"), route.text).unwrap();
        let followers = follow_copy(&place, &api);
        let measured = Measured::fine(&place);
        Stage { place, api, measured, _followers: followers }
    }

    /// Starts `carve serve` as in a pod of this name.
    fn serve(&self, pod: &str) -> (Process, SocketAddr) {
        let admin = service_kit::free_addresses(1).unwrap()[0];
        let mut command = in_cluster(&self.place, &self.api, &["serve", "--every", "200ms"]);
        command
            .env("RAMP_NGINX_DIR", self.place.beside(pod))
            .env("RAMP_TARGET", "kubernetes")
            .env("RAMP_ADMIN_ADDR", admin.to_string())
            .env("HOSTNAME", pod)
            .stdout(Stdio::null());
        let process = Process(command.spawn().unwrap());
        assert!(eventually(|| asked(admin, "readyz").is_some_and(|(status, _)| status == 200)));
        (process, admin)
    }

    fn says(&self, args: &[&str]) -> String {
        let output = from_elsewhere(&self.place, &self.api, args);
        assert!(output.status.success(), "{args:?}: {}{}", stdout(&output), stderr(&output));
        stdout(&output)
    }

    fn order(&self, hold: &str) {
        let gates = gates(&self.place).display().to_string();
        self.says(&["ramp", "--steps", "50", "--hold", hold, "--gates", &gates, "--detach"]);
    }

    fn is_at(&self, percent: &str) -> bool {
        self.place.served().share_percent.to_string() == percent
    }

    /// Whether a process of this pod holds the run.
    fn is_held_by(&self, pod: &str) -> bool {
        self.api.run()["holder"].as_str().is_some_and(|holder| holder.starts_with(pod))
    }

    fn phase(&self) -> String {
        self.api.run()["state"]["phase"].as_str().unwrap_or_default().to_owned()
    }

    fn held_seconds(&self) -> u64 {
        self.api.run()["state"]["held"]["secs"].as_u64().unwrap_or_default()
    }

    /// The number of requests that the run's tests have counted.
    fn counted(&self) -> f64 {
        self.api.run()["state"]["trial"]["asked"].as_f64().unwrap_or_default()
    }
}

fn asked(admin: SocketAddr, path: &str) -> Option<(u16, String)> {
    rollout::http::get(&format!("http://{admin}/{path}"), Duration::from_secs(5)).ok()
}

#[test]
fn an_ordered_run_is_carried_out_and_its_command_ends_with_it() {
    let stage = Stage::new("");
    let (server, admin) = stage.serve("ramp-a");
    let gates = gates(&stage.place).display().to_string();
    let args = ["ramp", "--steps", "50,100", "--hold", "1s", "--gates", &gates];
    let said = stage.says(&args);
    has_all(&said, &["The run is recorded", "done: step 2 of 2, 100%"]);
    assert!(stage.is_at("100") && stage.api.share() == "100");
    // A hundred ended runs have room in the ConfigMap.
    let size = || stage.api.run().to_string().len();
    assert!(eventually(|| stage.phase() == "done" && size() < 10_000), "{} bytes", size());
    // The process writes these when it sees the end itself, which may be after its command has ended.
    for line in [
        "ramp_phase{route=\"qrcode\",phase=\"done\"} 1",
        "ramp_share_percent{route=\"qrcode\"} 100",
    ] {
        assert!(eventually(|| asked(admin, "metrics").unwrap().1.contains(line)), "{line}");
    }
    // Its metrics also show a share that others set.
    stage.says(&["split", "25"]);
    let is_25 =
        || asked(admin, "metrics").unwrap().1.contains("ramp_share_percent{route=\"qrcode\"} 25");
    assert!(eventually(is_25));
    server.signal(Signal::TERM);
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn a_side_that_breaks_after_its_run_was_done_goes_back() {
    let stage = Stage::new("");
    let _server = stage.serve("ramp-a");
    let gates = gates(&stage.place).display().to_string();
    stage.says(&["ramp", "--steps", "50,100", "--hold", "1s", "--gates", &gates]);
    stage.measured.set(Traffic { new: 0.0, new_errors: 400.0, ..Traffic::FINE });
    assert!(holds_within(Duration::from_secs(60), || stage.phase() == "rolled_back"));
    let reason = stage.api.run()["state"]["reason"].as_str().unwrap_or_default().to_owned();
    assert!(reason.starts_with("after the run was done: failures"), "{reason}");
    assert!(stage.is_at("0") && stage.api.share() == "0");
}

#[test]
fn other_programs_are_told_what_the_judge_says() {
    // These tests would need more than a minute for their proof.
    let off = ["failures", "pair-failures", "pair-latency"]
        .map(|it| format!("[gates.{it}]\noff = true\n"));
    let stage = Stage::new(&off.concat());
    let (_server, admin) = stage.serve("ramp-a");
    let is = |verdict: &str, status: u16| {
        asked(admin, &format!("verdict/{verdict}?route=qrcode")).is_some_and(|it| it.0 == status)
    };
    let passes = eventually(|| is("pass", 200) && is("fail", 409));
    assert!(passes, "{:?}", asked(admin, "verdict?route=qrcode"));
    let (status, body) = asked(admin, "verdict?route=qrcode").unwrap();
    let verdict: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (status, &verdict["verdict"], &verdict["share"]),
        (200, &"pass".into(), &0.0.into())
    );
    let mut gates = verdict["gates"].as_array().unwrap().iter();
    assert!(gates.any(|it| it["gate"] == "mismatches"), "{body}");

    // A webhook of Flagger is judged from the moment at which its checksum first came.
    let hook = |wanted: &str, checksum: &str| {
        let url = format!("http://{admin}/verdict/{wanted}?route=qrcode");
        let mut answer = ureq::post(url)
            .config()
            .http_status_as_error(false)
            .build()
            .send(json!({ "checksum": checksum }).to_string())
            .unwrap();
        (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
    };
    assert_eq!(hook("pass", "1"), (200, "every gate and test passes".to_owned()));
    stage.measured.set(Traffic { mismatches: 10.0, ..Traffic::FINE });
    assert!(eventually(|| hook("fail", "1").0 == 200));
    assert!(hook("pass", "1").1.contains("mismatches"));
    let is_in_gauge =
        || asked(admin, "metrics").unwrap().1.contains("carve_verdict{route=\"qrcode\"} -1\n");
    assert!(eventually(is_in_gauge));

    assert_eq!(asked(admin, "verdict/wait?route=qrcode").unwrap().0, 404);
    for (query, problem) in [
        ("", "which route?"),
        ("?route=other", "there is no route \"other\"; the routes are qrcode"),
        ("?route=qrcode&since=yesterday", "since: \"yesterday\""),
        ("?route=qrcode&since=2999-01-01T00:00:00Z", "it is in the future"),
    ] {
        let (status, said) = asked(admin, &format!("verdict{query}")).unwrap();
        assert!(status == 400 && said.contains(problem), "{said}");
    }
}

#[test]
fn a_file_begins_one_run_and_its_last_step_waits_for_a_person() {
    let off = ["failures", "pair-failures", "pair-latency"];
    let off = off.map(|it| format!("[gates.{it}]\noff = true\n")).concat();
    let ramp = "[ramp]\nstart = true\nsteps = [50, 100]\nhold = \"1s\"\nconfirm = true\n";
    let stage = Stage::new(&format!("{ramp}{off}"));
    let (_server, _) = stage.serve("ramp-a");
    assert!(eventually(|| stage.phase() == "paused" && stage.is_at("50")));
    let status = stage.says(&["status"]);
    assert!(status.contains("the step has passed; `carve resume` begins the last one"), "{status}");
    stage.says(&["resume"]);
    assert!(eventually(|| stage.phase() == "done" && stage.is_at("100")));
    stage.says(&["split", "0"]);
    thread::sleep(Duration::from_secs(4));
    assert!(stage.is_at("0") && stage.phase() == "done");
}

#[test]
fn only_those_whom_the_file_names_begin_a_run() {
    let stage = Stage::new("[ramp]\nactors = [\"release\", \"ops\"]\n");
    let gates = gates(&stage.place).display().to_string();
    let order = ["ramp", "--steps", "50", "--gates", &gates, "--detach", "--actor"];
    let refused = from_elsewhere(&stage.place, &stage.api, &[&order[..], &["intern"]].concat());
    assert!(!refused.status.success());
    let said = stderr(&refused);
    assert!(said.contains("intern may not begin a run of qrcode, only release, ops"), "{said}");
    stage.says(&[&order[..], &["ops"]].concat());
}

#[test]
fn a_run_goes_on_in_the_middle_of_its_step_after_its_process_ended_or_was_killed() {
    let stage = Stage::new("");
    let (first, _) = stage.serve("ramp-a");
    stage.order("600s");
    assert!(eventually(|| stage.is_at("50") && stage.counted() > 0.0));
    first.signal(Signal::TERM);
    assert_eq!(first.wait(), Some(0));
    assert_eq!((stage.phase().as_str(), &stage.api.run()["holder"]), ("interrupted", &Value::Null));
    let held = stage.held_seconds();

    let (second, _) = stage.serve("ramp-b");
    assert!(eventually(|| stage.is_held_by("ramp-b") && stage.phase() == "holding"));
    assert!(eventually(|| stage.held_seconds() > held), "it has held {held} s before");
    assert!(stage.counted() > 0.0, "what was counted is kept");
    second.signal(Signal::KILL);
    let _ = second.wait();
    let held = stage.held_seconds();
    let (third, _) = stage.serve("ramp-c");
    assert!(eventually(|| stage.is_held_by("ramp-c")));
    assert!(eventually(|| stage.held_seconds() > held));
    assert!(stage.is_at("50") && !stage.place.is_stopped());

    // A paused run stays paused.
    stage.says(&["pause"]);
    assert!(eventually(|| stage.phase() == "paused"));
    drop(third);
    assert_eq!((stage.phase().as_str(), &stage.api.run()["holder"]), ("paused", &Value::Null));
    let _fourth = stage.serve("ramp-d");
    assert!(eventually(|| stage.is_held_by("ramp-d") && stage.phase() == "paused"));
    assert!(stage.says(&["abort"]).contains("back at 0%"));
    assert!(stage.is_at("0") && stage.phase() == "aborted");
}

#[test]
fn of_two_processes_one_has_the_run() {
    let stage = Stage::new("");
    let (first, _) = stage.serve("ramp-a");
    stage.order("600s");
    assert!(eventually(|| stage.is_held_by("ramp-a") && stage.is_at("50")));
    let _second = stage.serve("ramp-b");
    let until = Instant::now() + Duration::from_secs(6);
    while Instant::now() < until {
        assert!(stage.is_held_by("ramp-a"), "{}", stage.api.run()["holder"]);
        thread::sleep(Duration::from_millis(50));
    }
    let refused = from_elsewhere(&stage.place, &stage.api, &["split", "25"]);
    assert!(stderr(&refused).contains("held by the run of ramp-a"), "{}", stderr(&refused));
    let refused =
        from_elsewhere(&stage.place, &stage.api, &["ramp", "--steps", "50", "--hold", "600s"]);
    assert!(stderr(&refused).contains("held by the run of ramp-a"), "{}", stderr(&refused));

    // A process that hangs loses the run, and reverts nothing when it wakes up.
    first.signal(Signal::STOP);
    let is_taken = eventually(|| stage.is_held_by("ramp-b"));
    first.signal(Signal::CONT); // before any assertion, since a failed one would wait for the process
    assert!(is_taken);
    let until = Instant::now() + Duration::from_secs(6);
    while Instant::now() < until {
        assert!(stage.is_held_by("ramp-b"), "{}", stage.api.run()["holder"]);
        thread::sleep(Duration::from_millis(50));
    }
    // The way back works, whoever holds the run.
    assert!(stage.says(&["split", "0"]).contains("0% of qrcode"));
    assert!(stage.is_at("0"));
    assert!(eventually(|| !stage.place.is_stopped()), "the stop of `set 0` is lifted");
    assert_eq!(stage.phase(), "stopped");
}

#[test]
fn a_run_goes_on_after_the_api_was_away() {
    let stage = Stage::new("[ramp]\nlease = \"8s\"\n");
    let _server = stage.serve("ramp-a");
    stage.order("12s");
    assert!(eventually(|| stage.held_seconds() >= 1));
    stage.api.be_away(true);
    // The step ends meanwhile, but the process cannot write that.
    thread::sleep(Duration::from_secs(16));
    assert!(stage.is_at("50") && !stage.place.is_stopped());
    stage.api.be_away(false);
    assert!(eventually(|| stage.phase() == "done"), "{}", stage.api.run());
    assert!(stage.is_at("50") && !stage.place.is_stopped());
}

#[test]
fn a_run_that_nobody_carries_on_is_stopped_by_the_proxies() {
    let stage = Stage::new("[ramp]\nlease = \"8s\"\n");
    let (server, _) = stage.serve("ramp-a");
    stage.order("60s");
    assert!(eventually(|| stage.is_at("50")));
    thread::sleep(Duration::from_secs(10));
    assert!(!stage.place.is_stopped(), "a run that is alive goes on");
    server.signal(Signal::KILL);
    assert!(eventually(|| stage.place.is_stopped()));
    let metrics = || stage.place.read("ramp.prom");
    let lost = "ramp_phase{route=\"qrcode\",phase=\"lost\"} 1";
    assert!(eventually(|| metrics().contains(lost)), "{}", metrics());
    // A process that starts later finds no run to carry on.
    let _late = stage.serve("ramp-b");
    thread::sleep(Duration::from_secs(2));
    assert_eq!(stage.phase(), "lost");
}

#[test]
fn serve_is_for_clusters() {
    let place = Place::new();
    let output = Command::new(built("carve"))
        .arg("serve")
        .env("RAMP_NGINX_DIR", place.nginx().dir)
        .output()
        .unwrap();
    assert!(stderr(&output).contains("serve needs --target kubernetes"), "{}", stderr(&output));
}

/// The bytes that a proxy's watch gets in some seconds of a run, beside 99 other routes whose runs have ended.
fn bytes_of_a_run(stage: &Stage) -> usize {
    let before = stage.api.object.lock().unwrap().sent;
    thread::sleep(Duration::from_secs(10));
    // Two processes watch.
    (stage.api.object.lock().unwrap().sent - before) / 2
}

#[test]
fn a_heartbeat_is_small_and_without_its_object_the_run_is_written_as_before() {
    let stage = Stage::new("");
    let _server = stage.serve("ramp-a");
    stage.order("600s");
    assert!(eventually(|| stage.is_at("50") && stage.counted() > 0.0));
    let mut ended = stage.api.run();
    ended["state"]["phase"] = json!("done");
    ended["state"]["trial"] = Value::Null;
    {
        let mut object = stage.api.object.lock().unwrap();
        let split = object.data["qrcode.conf"].clone();
        for number in 1..100 {
            object.data.insert(format!("r{number}.conf"), split.clone());
            object.data.insert(format!("r{number}.run"), ended.to_string());
        }
    }
    let small = bytes_of_a_run(&stage);
    // The manifests of an earlier version.
    stage.api.object.lock().unwrap().beats = None;
    let large = bytes_of_a_run(&stage);
    assert!(small * 2 < large, "{small} and {large} bytes");
    assert!(stage.is_held_by("ramp-a") && !stage.place.is_stopped());
}
