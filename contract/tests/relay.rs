//! The relay's scenarios and their runner.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use contract::relay::scenario::{FILES, all};
use contract::relay::{Scenario, run};
use contract::{Report, Target};

#[test]
fn every_file_of_scenarios_matches_the_schema() {
    let schema = serde_json::from_str(include_str!("../cases/relay-schema.json")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for (name, file) in FILES {
        let scenarios = serde_json::from_str(file).unwrap();
        if let Some(error) = schema.iter_errors(&scenarios).next() {
            panic!("{name}: {error} at {}", error.instance_path);
        }
    }
}

#[test]
fn names_are_unique() {
    let mut seen = HashSet::new();
    for scenario in all().unwrap() {
        assert!(seen.insert(scenario.name.clone()), "{}", scenario.name);
    }
}

/// Answers every connection with the same bytes, once its request has begun.
fn server(answer: impl Fn(TcpStream) + Send + 'static) -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            answer(stream.unwrap());
        }
    });
    Target::new(&base).unwrap()
}

fn play(steps: &str, answer: &'static str) -> Report {
    let target = server(move |mut stream| {
        let mut request = [0; 4096];
        if stream.read(&mut request).unwrap_or_default() > 0 {
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    let scenario: Scenario =
        serde_json::from_str(&format!(r#"{{"name": "a", "steps": [{steps}]}}"#)).unwrap();
    run(&target, &[scenario], 1, false)
}

const GET: &str = r#"{"who": "r", "request": {"method": "GET", "target": "/p/{key}"}}"#;

#[test]
fn every_mistake_is_found_and_named() {
    let whole = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n";
    let head = r#"{"who": "r", "gets": {"status": 200}}"#;
    for (steps, answer, expected) in [
        (r#"{"who": "r", "gets_nothing_for": 300}"#.to_owned(), whole, "expected silence, got"),
        (r#"{"who": "r", "gets": {"status": 400}}"#.to_owned(), whole, "expected 400, got 200"),
        (
            r#"{"who": "r", "gets": {"status": 200, "headers": {"content-length": null}}}"#
                .to_owned(),
            whole,
            "content-length: expected None, got Some(\"2\")",
        ),
        (format!(r#"{head}, {{"who": "r", "reads": "ax"}}"#), whole, "expected \"\\\"ax"),
        (format!(r#"{head}, {{"who": "r", "ends": "whole"}}"#), whole, "expected the end, got"),
        (
            format!(r#"{head}, {{"who": "r", "reads": "ab"}}, {{"who": "r", "ends": "cut"}}"#),
            whole,
            "expected an end that is Cut, got Whole",
        ),
        (
            format!(r#"{head}, {{"who": "r", "reads": "ab"}}, {{"who": "r", "ends": "whole"}}"#),
            chunked,
            "expected an end that is Whole, got Cut",
        ),
        (format!(r#"{head}, {{"who": "r", "reads_flood": 2}}"#), whole, "another byte at 0"),
        (r#"{"who": "r", "is_cut": true}"#.to_owned(), whole, "the answer is whole"),
        (r#"{"who": "x", "leaves": true}"#.to_owned(), whole, "there is no such connection"),
    ] {
        let report = play(&format!("{GET}, {steps}"), answer);
        assert_eq!(report.counts(), (0, 1), "{expected}");
        assert!(report.to_string().contains(expected), "{expected}: {report}");
    }
}

#[test]
fn answers_as_expected_pass() {
    let chunks =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n";
    let steps = r#"{"who": "r", "gets": {"status": 200}}, {"who": "r", "reads": "ab"},
        {"who": "r", "ends": "whole"}"#;
    let report = play(&format!("{GET}, {steps}"), chunks);
    assert_eq!(report.to_string(), "1 passed, 0 failed");
}

#[test]
fn a_sender_that_is_read_to_its_end_does_not_stall() {
    let target = server(|mut stream| {
        std::thread::spawn(move || while stream.read(&mut [0; 65536]).unwrap_or_default() > 0 {});
    });
    let steps = r#"{"name": "a", "steps": [
        {"who": "s", "request": {"method": "PUT", "target": "/", "framing": {"length_of": 1000000}}},
        {"who": "s", "floods": 1000000}, {"who": "s", "stalls_before": 2000000}]}"#;
    let report = run(&target, &[serde_json::from_str(steps).unwrap()], 1, false);
    let report = report.to_string();
    assert!(report.contains("the flood has ended after 1000000 bytes"), "{report}");
}
