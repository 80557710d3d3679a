//! `carve ramp` with a real nginx and a real Prometheus.

use std::fs;
use std::process::{Output, Stdio};
use std::thread;
use std::time::Duration;

use route::Route;
use rustix::process::Signal;
use service_kit::testing::{has_all, timed};

use crate::support::prometheus::{Measured, Traffic};
use crate::support::{Place, Process, eventually, gates, routes, says, stderr, stdout};

fn run_args(place: &Place, hold: &str) -> Vec<String> {
    let gates = gates(place).display().to_string();
    let args = ["ramp", "--steps", "5,25,100", "--every", "200ms", "--hold", hold, "--gates"];
    args.into_iter().map(str::to_owned).chain([gates]).collect()
}

/// Runs `carve ramp` to its end.
fn run(place: &Place, hold: &str) -> Output {
    let args = run_args(place, hold);
    place.ramp(&args.iter().map(String::as_str).collect::<Vec<_>>()).output().unwrap()
}

/// Starts a run in the background.
fn start(place: &Place, hold: &str) -> Process {
    let args = run_args(place, hold);
    let mut command = place.ramp(&args.iter().map(String::as_str).collect::<Vec<_>>());
    Process(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

/// The events in the log.
fn events(place: &Place) -> Vec<String> {
    let line = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        format!("{} {}", line["event"].as_str().unwrap(), line["share_percent"])
    };
    place.read("ramp.log").lines().map(line).collect()
}

fn code(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), format!("{}{}", stdout(output), stderr(output)))
}

#[test]
fn a_run_whose_gates_pass_reaches_100_percent() {
    let place = Place::new();
    let _measured = Measured::fine(&place);
    let (code, said) = code(&run(&place, "1500ms"));
    assert_eq!(code, Some(0), "{said}");
    let steps = ["step 1 of 3", "step 3 of 3", "0:02 left", "pair-latency", "done. 100% of qrcode"];
    has_all(&said, &steps);
    assert_eq!(place.share(), "100");
    let moved = ["started 0.0", "moved 5.0", "passed 5.0", "moved 25.0", "passed 25.0"];
    let ended = ["moved 100.0", "passed 100.0", "done 100.0"];
    assert_eq!(events(&place), [&moved[..], &ended].concat());
    let figures = place.read("ramp.prom");
    for line in [
        "ramp_share_percent{route=\"qrcode\"} 100.0",
        "ramp_step{route=\"qrcode\"} 3.0",
        "ramp_phase{route=\"qrcode\",phase=\"done\"} 1.0",
        "ramp_verdict{route=\"qrcode\",verdict=\"pass\"} 1.0",
        "ramp_gate_verdict{route=\"qrcode\",gate=\"mismatches\",verdict=\"pass\"} 1.0",
        "ramp_gate_value{route=\"qrcode\",gate=\"mismatches\"} 0.0",
    ] {
        assert!(figures.lines().any(|found| found == line), "{line}: {figures}");
    }
    let again = place.fails(1, &["ramp"]);
    assert!(again.contains("not above the current share, 100%"), "{again}");
}

#[test]
fn a_gate_rolls_back_at_once_or_at_the_end_of_a_step() {
    let place = Place::new();
    place.succeeds(&["split", "2.5"]);
    let measured = Measured::fine(&place);
    let process = start(&place, "30s");
    says(&place, "holding: step 1 of 3");
    measured.set(Traffic { mismatches: 3.0, ..Traffic::FINE });
    let (status, said) = code(&output(process));
    assert_eq!(status, Some(3), "{said}");
    let last = said.lines().rev().nth(1).unwrap();
    assert!(last.contains("rolled back: mismatches (") && last.contains("must be == 0"), "{last}");
    assert_eq!(place.share(), "2.50");
    let expected = ["started 2.5", "moved 5.0", "failed 5.0", "rolled_back 2.5"];
    assert_eq!(events(&place)[1..], expected);
    says(&place, "rolled_back");

    let file = place.beside("at-the-end.toml");
    let gate = "overlap = \"1s\"\n[[gate]]\nname = \"late\"\nquery = \"vector(1)\"\n\
                compare = \"==\"\nlimit = 0\njudge = \"at the end\"\n";
    fs::write(&file, gate).unwrap();
    let args = ["ramp", "--steps", "5", "--every", "100ms", "--hold", "1s", "--patience", "0s"];
    let mut command = place.ramp(&args);
    let (output, took) = timed(|| command.arg("--gates").arg(&file).output().unwrap());
    let (status, said) = code(&output);
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("rolled back: late (1, must be == 0)"), "{said}");
    assert!(took >= Duration::from_secs(1), "{took:?}: {said}");
    assert_eq!(events(&place)[5..], expected);
}

#[test]
fn differences_beyond_the_old_sides_own_roll_back() {
    // By key, or the counts would have to be those of each step's share.
    let route = "path = \"/qrcode\"\nkey = \"query\"\nshadow.noise = 20\n";
    let place = Place::with(&[Route::parse("qrcode", route).unwrap()]);
    let measured = Measured::fine(&place);
    let noisy = Traffic { matches: 360.0, mismatches: 40.0, noise: (100.0, 10.0), ..Traffic::FINE };
    measured.set(noisy);
    let process = start(&place, "3s");
    says(&place, "holding: step 2 of 3");
    measured.set(Traffic { matches: 240.0, mismatches: 160.0, ..noisy });
    let (code, said) = code(&output(process));
    assert_eq!(code, Some(3), "{said}");
    let last = said.lines().rev().nth(1).unwrap();
    assert!(last.contains("rolled back: differences (new +"), "{last}");
    assert_eq!(place.share(), "0");
}

#[test]
fn a_step_without_pairs_says_why() {
    let place = Place::new();
    let measured = Measured::fine(&place);
    measured.set(Traffic { matches: 0.0, too_large: 400.0, ..Traffic::FINE });
    let _process = start(&place, "1s");
    says(&place, " old too_large");
    let said = place.succeeds(&["status"]);
    let line = said.lines().find(|line| line.contains(" comparisons ")).unwrap();
    assert!(line.contains("must be >= 100; ") && !line.contains("new too_large"), "{line}");
    assert_eq!(place.share(), "5");
}

/// Behind a login, a shadow without credentials gets 401 from both sides, whatever clients get.
#[test]
fn a_run_waits_while_the_shadow_gets_other_answers_than_clients() {
    let place = Place::new();
    let measured = Measured::fine(&place);
    measured.set(Traffic { shadow_gets: "4xx", ..Traffic::FINE });
    let process = start(&place, "1s");
    says(&place, "inconclusive  shadow-answers");
    thread::sleep(Duration::from_secs(4));
    // It waits as long as requests come, and says what to do.
    says(&place, "clients get 100 % 2xx, the shadow 100 % 4xx; it does not ask as they do");
    assert!(place.succeeds(&["status"]).contains("step 1 of 3, 5%\n"), "it waits");
    assert!(place.succeeds(&["status"]).contains("shadow.send_headers of the route file"));
    measured.set(Traffic::FINE);
    let (code, said) = code(&output(process));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("pass          shadow-answers"), "{said}");
}

#[test]
fn a_run_that_is_rolled_back_leaves_the_other_route_alone() {
    let place = Place::with(&routes());
    place.succeeds(&["split", "report", "25"]);
    let measured = Measured::fine(&place);
    // Each over a new connection, since a reload closes idle ones.
    let sides = || -> Vec<String> {
        let answers = (0..100).map(|key| place.get(&format!("/report/a?n={key}")));
        answers.map(|(status, side)| format!("{status} {side}")).collect()
    };
    let before = sides();
    let new = before.iter().filter(|answer| *answer == "200 new").count();
    assert!((10..45).contains(&new) && before.iter().all(|answer| answer.starts_with("200")));

    let args = run_args(&place, "1s");
    let mut command = place.ramp(&args.iter().map(String::as_str).collect::<Vec<_>>());
    command.arg("qrcode").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = Process(command.spawn().unwrap());
    let mut rounds = 0;
    while process.0.try_wait().unwrap().is_none() {
        assert_eq!(sides(), before, "the same keys on the same side, and none failed");
        rounds += 1;
        if place.served().share_percent.to_string() == "25" {
            measured.set(Traffic { mismatches: 3.0, ..Traffic::FINE });
        }
    }
    let (code, said) = code(&output(process));
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("rolled back: mismatches (") && rounds > 2, "{rounds} rounds: {said}");
    assert_eq!((place.share_of("qrcode"), place.share_of("report")), ("0".into(), "25".into()));
    let figures = place.read("ramp.prom");
    assert!(figures.contains("ramp_phase{route=\"qrcode\",phase=\"rolled_back\"} 1"), "{figures}");
    assert!(figures.contains("ramp_share_percent{route=\"report\"} 25.0"), "{figures}");
    // The alert on a run that was rolled back ends when somebody sets the share.
    place.succeeds(&["split", "qrcode", "7"]);
    assert!(!place.read("ramp.prom").contains("ramp_phase"), "{}", place.read("ramp.prom"));
}

fn output(mut process: Process) -> Output {
    use std::io::Read;
    let mut output = Output { status: process.0.wait().unwrap(), stdout: vec![], stderr: vec![] };
    process.0.stdout.take().unwrap().read_to_end(&mut output.stdout).unwrap();
    if let Some(mut said) = process.0.stderr.take() {
        said.read_to_end(&mut output.stderr).unwrap();
    }
    output
}

#[test]
fn each_gate_passes_fails_or_waits_as_configured() {
    let place = Place::new();
    let measured = Measured::fine(&place);
    let gates = gates(&place).display().to_string();
    let fine = Traffic::FINE;
    for (traffic, code, named) in [
        (fine, 0, "pass: a run would move on, to 1%"),
        (Traffic { new: 20.0, ..fine }, 4, "requests ("),
        (Traffic { matches: 20.0, ..fine }, 4, "comparisons ("),
        (Traffic { mismatches: 1.0, ..Traffic::NONE }, 3, "would roll back: mismatches ("),
        (Traffic { new: 100.0, fallbacks: 20.0, ..fine }, 3, "would roll back: failures ("),
        (Traffic { fallbacks: 20.0, old_errors: 20.0, ..fine }, 0, "pass"),
        (Traffic { new_errors: 90.0, ..fine }, 3, "would roll back: failures ("),
        (Traffic { new_alone: 20.0, ..fine }, 3, "would roll back: pair-failures ("),
        (Traffic { matches: 100.0, slower: 40.0, ..fine }, 3, "would roll back: pair-latency ("),
        (Traffic { matches: 8.0, ..fine }, 4, "pair-failures (new +0.00"),
        (Traffic { down: "shadow", ..fine }, 4, "parts-up (1, must be == 2)"),
        (Traffic::NONE, 4, "requests (0, must be >= 100)"),
    ] {
        measured.set(traffic);
        let judge = || {
            // After the window and two scrapes, the earlier traffic has left the window.
            thread::sleep(Duration::from_millis(4900));
            let args = ["ramp", "--dry-run", "--hold", "4s", "--gates", &gates];
            let output = place.run(&args);
            (output.status.code(), format!("{}{}", stdout(&output), stderr(&output)))
        };
        let is_so = |(status, said): &(_, String)| *status == Some(code) && said.contains(named);
        let mut judged = judge();
        if !is_so(&judged) {
            // A machine that stalls misses scrapes. A true result is the same in the next window.
            judged = judge();
        }
        assert!(is_so(&judged), "{traffic:?}: {code}, {named}: {judged:?}");
    }
    assert_eq!(place.share(), "0", "nothing moved");
    assert!(!place.file("ramp.json").exists() && !place.file("ramp.log").exists());
}

/// Prometheus marks a series as ended when it sees its instance end. For instances that ended while Prometheus was
/// away, it returns the last sample for five minutes.
#[test]
fn a_run_does_not_wait_for_instances_that_ended_while_prometheus_restarted() {
    let place = Place::new();
    let mut measured = Measured::fine(&place);
    measured.set(Traffic { down: "shadow", ..Traffic::FINE });
    thread::sleep(Duration::from_secs(1));
    measured.replace(&place, "second");
    measured.set(Traffic::FINE);
    let gates = gates(&place).display().to_string();
    // The gates look at the last 15 s.
    thread::sleep(Duration::from_secs(17));
    let mut said = String::new();
    // A machine that stalls misses scrapes. A true result is the same in the next window.
    let passes = eventually(|| {
        let (status, now) =
            code(&place.run(&["ramp", "--dry-run", "--hold", "4s", "--gates", &gates]));
        said = now;
        status == Some(0)
    });
    assert!(passes, "{said}");
}

#[test]
fn without_prometheus_nothing_moves() {
    let place = Place::new();
    let (code, said) = code(&run(&place, "1s"));
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("Prometheus at") && said.contains("nothing moved"), "{said}");
    assert_eq!(place.share(), "0");
}

#[test]
fn without_traffic_a_run_stops_and_resumes_when_there_is_some() {
    let place = Place::new();
    let mut measured = Measured::start(&place);
    measured.wait_until_scraped(&place);
    let (code_, said) = code(&run(&place, "1s"));
    assert_eq!(code_, Some(4), "{said}");
    assert!(said.contains("waiting for missing data"), "{said}");
    assert!(said.lines().last().unwrap().contains("comparisons (0, must be >= 100)"), "{said}");
    assert_eq!(place.share(), "5", "the share stays");
    says(&place, "inconclusive: step 1 of 3, 5%");

    measured.set(Traffic::FINE);
    let process = Process(place.ramp(&["resume"]).stdout(Stdio::piped()).spawn().unwrap());
    says(&place, "step 2 of 3");
    measured.stop_prometheus();
    says(&place, "inconclusive: step 2 of 3, 25%");
    assert_eq!(process.wait(), Some(4));
    assert_eq!(place.share(), "25");
    assert!(place.succeeds(&["abort"]).contains("aborted"));
    assert_eq!(place.share(), "0");
}

#[test]
fn a_run_pauses_resumes_and_aborts_on_request_from_another_shell() {
    let place = Place::new();
    let measured = Measured::fine(&place);
    assert!(place.fails(1, &["pause"]).contains("no unfinished run"));
    let process = start(&place, "2s");
    says(&place, "step 1 of 3");
    let pid = process.0.id().to_string();
    for args in [["split", "50"], ["ramp", "--every=1s"]] {
        let said = place.fails(1, &args);
        assert!(said.contains(&format!("process {pid}")) && said.contains("--steps"), "{said}");
    }
    assert!(place.succeeds(&["pause"]).contains("stays at 5%"));
    thread::sleep(Duration::from_secs(3));
    says(&place, "paused: step 1 of 3");
    assert!(place.succeeds(&["resume"]).contains("resumes at 5%"));
    says(&place, "step 2 of 3");
    place.succeeds(&["pause"]);
    assert!(place.succeeds(&["abort"]).contains("back at 0%"));
    assert_eq!(process.wait(), Some(5));
    assert_eq!(place.share(), "0");
    assert!(place.fails(1, &["abort"]).contains("no unfinished run"));

    // A pause does not suspend the gates.
    let process = start(&place, "30s");
    says(&place, "holding: step 1 of 3");
    place.succeeds(&["pause"]);
    measured.set(Traffic { fallbacks: 50.0, ..Traffic::FINE });
    assert_eq!(process.wait(), Some(3));
    assert_eq!(place.share(), "0");
}

#[test]
fn a_killed_run_resumes_its_step_or_reports_why_it_cannot() {
    let place = Place::new();
    let _measured = Measured::fine(&place);
    let process = start(&place, "1500ms");
    says(&place, "step 2 of 3");
    says(
        &place,
        "share   25% of parameter:text to the new side; 10% mirrored\nserved  the same\nrun",
    );
    process.signal(Signal::KILL);
    assert_eq!(process.wait(), None);
    assert_eq!(place.share(), "25");
    says(
        &place,
        "step 2 of 3, 25%; its process has ended: the share returns to 0% within 30s, unless `carve resume`",
    );

    let said = place.fails(1, &["ramp", "--steps", "50"]);
    assert!(said.contains("step 2 of 3") && said.contains("`carve resume`"), "{said}");
    let moved =
        place.read("split.conf").replace("\"share_percent\":25.0", "\"share_percent\":60.0");
    fs::write(place.file("split.conf"), moved).unwrap();
    let said = place.fails(1, &["ramp"]);
    assert!(said.contains("now 60%") && said.contains("`carve abort`"), "{said}");
    let back = place.read("split.conf").replace("\"share_percent\":60.0", "\"share_percent\":25.0");
    fs::write(place.file("split.conf"), back).unwrap();

    let mut resumed = place.ramp(&["ramp", "--every", "200ms"]);
    let process = Process(resumed.stdout(Stdio::piped()).spawn().unwrap());
    says(&place, "step 3 of 3");
    says(&place, "verdict pass");
    process.signal(Signal::TERM);
    let (code, said) = code(&output(process));
    assert_eq!(code, Some(143), "{said}");
    assert!(said.starts_with("resumed: step 2 of 3, 25%"), "{said}");
    assert_eq!(place.share(), "100", "a signal leaves the share");
    says(&place, "interrupted: step 3 of 3, 100%");
    let said = place.succeeds(&["split", "7"]);
    assert!(said.contains("discards the unfinished run"), "{said}");
    says(&place, "superseded");
}

#[test]
fn a_gate_with_an_invalid_query_is_named_before_anything_moves() {
    let place = Place::new();
    let _measured = Measured::start(&place);
    let file = place.beside("own.toml");
    let gate = |query: &str| {
        format!(
            "overlap = \"1s\"\n[[gate]]\nname = \"own\"\nquery = '{query}'\ncompare = \"<\"\nlimit = 1\n"
        )
    };
    let args = ["ramp", "--gates", file.to_str().unwrap()];
    for (text, named) in [
        (gate("sum("), "gate \"own\""),
        (gate("vector(1) or label_replace(vector(1), \"a\", \"b\", \"\", \"\")"), "several series"),
        ("nonsense".to_owned(), "own.toml: line 1"),
    ] {
        fs::write(&file, text).unwrap();
        let said = place.fails(1, &args);
        assert!(said.contains(named) && said.lines().count() == 1, "{said}");
    }
    assert_eq!(place.share(), "0");
}
