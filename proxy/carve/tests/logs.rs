//! Follows one request through all logs and compares each line with docs/logs.md.

use std::collections::BTreeMap;
use std::fs;

use carve::local::{Share, Stack};
use serde_json::{Map, Value};
use service_kit::testing::repository;

use crate::support::{get, log_lines, start};

type Line = Map<String, Value>;
/// Maps names to types.
type Fields = BTreeMap<String, String>;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

#[test]
fn a_request_is_followed_through_all_logs_by_its_id() {
    let stack = start(|it| it.wanted.mirror = Some(Share::ALL));
    a_compared_one_is_in_the_logs_of_all_three(&stack);
    a_fallback_is_named_in_both_logs_that_have_it(&stack);
}

fn a_compared_one_is_in_the_logs_of_all_three(stack: &Stack) {
    ask(stack, "followed-1");
    let of_nginx = lines_of(stack, "nginx", "followed-1", 1);
    // One line for the client's request, one for the shadow's.
    let of_new = lines_of(stack, "qr-service", "followed-1", 2);
    let of_node = lines_of(stack, "legacy-node", "followed-1", 1);
    for (lines, side) in [(&of_nginx, "new"), (&of_new, "new"), (&of_node, "old")] {
        for line in lines {
            assert_eq!((&line["side"], &line["level"]), (&side.into(), &"info".into()));
        }
    }
    assert_eq!(of_nginx[0]["trace_id"], TRACE);
    // The shadow's line has no trace id, and on a busy machine it may come first.
    let traced = of_new.iter().filter(|line| line.get("trace_id").is_some_and(|id| id == TRACE));
    assert_eq!(traced.count(), 1, "{of_new:?}");
}

fn a_fallback_is_named_in_both_logs_that_have_it(stack: &Stack) {
    stack.supervisor.stop_part("qr-service").unwrap();
    ask(stack, "followed-2");
    let of_nginx = lines_of(stack, "nginx", "followed-2", 1).remove(0);
    let of_node = log_lines(stack.settings(), "legacy-node", "followed-2", 1);
    assert_eq!(of_nginx["side"], "fallback");
    assert_eq!(of_nginx["upstream_status"], "502 : 200");
    let fallbacks = of_node.iter().filter(|line| line.contains(r#""side":"fallback""#));
    assert_eq!(fallbacks.count(), 1, "{of_node:?}");
}

#[test]
fn of_a_share_every_fallback_is_logged() {
    let stack = start(|it| it.log_share = Share::percent(20).unwrap());
    let count = 200;
    for number in 0..count {
        ask(&stack, &format!("sampled-{number}-new"));
    }
    stack.supervisor.stop_part("qr-service").unwrap();
    for number in 0..count {
        ask(&stack, &format!("sampled-{number}-old"));
    }
    // A line may come a second after its request. Lines of one buffer keep their order.
    log_lines(stack.settings(), "nginx", "-old\"", count);
    let of_new = log_lines(stack.settings(), "nginx", "-new\"", 1).len();
    assert!((count / 10..count * 3 / 10).contains(&of_new), "{of_new} of {count}");
}

fn ask(stack: &Stack, id: &str) {
    let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
    let headers = [("X-Request-Id", id), ("traceparent", parent.as_str())];
    let answer = get(&format!("{}/qrcode?text={id}", stack.url()), &headers);
    assert_eq!((answer.status, answer.header("x-request-id")), (200, id));
}

/// A part's request lines with that id. Also compares them with the tables of docs/logs.md.
fn lines_of(stack: &Stack, part: &str, id: &str, count: usize) -> Vec<Line> {
    let lines = log_lines(stack.settings(), part, id, count);
    let lines: Vec<Line> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &lines {
        assert_eq!((&line["service"], &line["request_id"]), (&part.into(), &id.into()));
        assert_eq!((&line["route"], &line["method"]), (&"/qrcode".into(), &"GET".into()));
        check_fields(part, line);
    }
    lines
}

/// Checks that a line has every field of docs/logs.md, with its type, and no other.
fn check_fields(part: &str, line: &Line) {
    let [every, mut fields_of_nginx] = tables();
    let mut fields = every;
    if part == "nginx" {
        fields.append(&mut fields_of_nginx);
    }
    for (name, kind) in &fields {
        let optional = name == "trace_id" && part != "nginx";
        let right = match line.get(name) {
            None => optional,
            Some(value) if kind == "number" => value.is_number(),
            Some(value) => value.is_string(),
        };
        assert!(right, "{part}: {name} is not a {kind}: {line:?}");
    }
    let other = line.keys().find(|name| !fields.contains_key(*name));
    assert_eq!(other, None, "{part}: docs/logs.md does not have it");
    let time = line["time"].as_str().unwrap();
    let is_precise = time.len() >= "2026-01-01T00:00:00.000Z".len();
    assert!(is_precise && time.as_bytes()[10] == b'T', "{time}");
}

/// The tables of docs/logs.md: the fields of every request line, and the fields that nginx adds.
fn tables() -> [Fields; 2] {
    let text = fs::read_to_string(repository().join("docs/logs.md")).unwrap();
    let table = |text: &str| -> Fields {
        let rows = text.lines().filter(|line| line.starts_with("| `"));
        rows.map(|row| {
            let mut cells = row.split('|').skip(1).map(|cell| cell.trim().trim_matches('`'));
            (cells.next().unwrap().to_owned(), cells.next().unwrap().to_owned())
        })
        .collect()
    };
    let (every, of_nginx) = text.split_once("nginx adds").unwrap();
    let tables = [table(every), table(of_nginx)];
    assert!(tables.iter().all(|table| table.len() > 5), "{tables:?}");
    tables
}
