//! `carve judge`: what the tests would have decided, from a real Prometheus' history and from the kept counts.

use std::fs;
use std::thread;
use std::time::{Duration, SystemTime};

use service_kit::testing::has_all;

use crate::support::prometheus::{Measured, Traffic};
use crate::support::{Place, stderr, stdout};

fn gates(place: &Place) -> String {
    let own =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../evidence/gates.toml")).unwrap();
    let file = place.beside("gates.toml");
    let short = own.replace("block = \"5s\"", "block = \"200ms\"");
    fs::write(&file, short.replace("\nproof = 0.005\n", "\nproof = 0.05\n")).unwrap();
    file.display().to_string()
}

/// Runs `carve judge` and returns its exit code and output.
fn judge(place: &Place, args: &[&str]) -> (Option<i32>, String) {
    let output = place.run(&[&["judge", "qrcode"], args].concat());
    (output.status.code(), stdout(&output) + &stderr(&output))
}

#[test]
fn a_history_is_judged_as_the_counts_that_are_kept_of_it() {
    let place = Place::new();
    let gates = gates(&place);
    let measured = Measured::start(&place);
    measured.set(Traffic { share: 5.0, ..Traffic::FINE });
    measured.wait_until_scraped(&place);
    let now = || humantime::format_rfc3339_millis(SystemTime::now()).to_string();
    let began = now();
    thread::sleep(Duration::from_secs(4));
    let moved = now();
    measured.set(Traffic { share: 25.0, fallbacks: 40.0, ..Traffic::FINE });
    thread::sleep(Duration::from_secs(5));
    let (counts, counts_of) = (place.beside("counts.jsonl"), |counts: &std::path::Path| {
        fs::read_to_string(counts).unwrap().lines().count()
    });
    let file = counts.to_str().unwrap();

    let fine = ["--from", &began, "--to", &moved, "--gates", &gates, "--counts", file];
    let (code, said) = judge(&place, &fine);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("5%, 0 steps to come") && said.ends_with("pass: a run would be done\n"));
    let first = counts_of(&counts);
    assert!(first > 20, "{first} lines");
    assert_eq!(judge(&place, &["--counts", file, "--gates", &gates]), (code, said));

    let worse = ["--from", &began, "--gates", &gates, "--counts", file];
    let (code, said) = judge(&place, &worse);
    assert_eq!(code, Some(3), "{said}");
    has_all(&said, &["5%, 1 steps to come", "25%, 0 steps to come", "a run would go back"]);
    let failed = said.lines().find(|line| line.contains("  fail")).unwrap();
    assert!(failed.contains("failures"), "{said}");
    assert!(counts_of(&counts) > first);
    assert_eq!(judge(&place, &["--counts", file, "--gates", &gates]), (code, said));
    let (_, json) = judge(&place, &["--counts", file, "--gates", &gates, "--json"]);
    let judgement: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(judgement["verdict"], "fail", "{json}");

    let before = ["--from", "2026-01-01T00:00:00Z", "--to", "2026-01-01T00:05:00Z"];
    let (code, said) = judge(&place, &before);
    assert!(code == Some(1) && said.contains("counted nothing of qrcode"), "{said}");
}

#[test]
fn a_mistake_in_a_file_of_counts_names_its_line() {
    let place = Place::new();
    let file = place.beside("counts.jsonl");
    for (text, problem) in [
        ("{\"end\":5,\"seconds\":5}\n{\"end\":4,\"seconds\":5}\n", "line 2 ended before the one"),
        ("{\"end\":5,\"ned\":5}\n", "line 1: unknown field `ned`"),
        ("", "has no lines"),
    ] {
        fs::write(&file, text).unwrap();
        let (code, said) = judge(&place, &["--counts", file.to_str().unwrap()]);
        assert!(code == Some(1) && said.contains(problem), "{text}: {said}");
    }
    let (code, said) = judge(&place, &[]);
    assert!(code == Some(2) && said.contains("--counts"), "{said}");
}
