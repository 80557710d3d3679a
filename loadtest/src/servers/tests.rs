//! Tests of the parts that need no server.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use clap::ValueEnum;
use serde_json::json;

use crate::client::Response;
use crate::servers::chaos::soak::{PartsMemory, grown};
use crate::servers::report::{Report, number, time};
use crate::servers::repository;
use crate::servers::rows::Group;
use crate::servers::sampling::{cpu_seconds, memory, tree};
use crate::texts;

#[test]
fn texts_are_of_1_to_512_bytes_and_nearly_all_differ() {
    let texts = texts::mix();
    assert!(texts.iter().all(|text| (1..=512).contains(&text.len())));
    let distinct: BTreeSet<_> = texts.iter().collect();
    // Two texts of three letters may be equal.
    assert!(distinct.len() > texts::COUNT - 20, "{}", distinct.len());
}

/// Uses a separate process tree, because the other tests change the memory of this process.
#[test]
fn memory_and_time_of_children_are_counted() {
    let mine = [std::process::id().cast_signed()];
    let before = cpu_seconds(&mine);
    let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo ready; read line; \
                  sleep 60 & echo started; read line; kill $!";
    let mut root = Command::new("sh")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("sh");
    let roots = [root.id().cast_signed()];
    let mut said = BufReader::new(root.stdout.take().expect("it is piped")).lines();
    let mut lines = root.stdin.take().expect("it is piped");
    assert_eq!(said.next().expect("a line").expect("it writes"), "ready");
    let alone = memory(&roots);
    lines.write_all(b"\n").expect("it reads");
    assert_eq!(said.next().expect("a line").expect("it writes"), "started");
    let (both, with_child) = (tree(&roots).len(), memory(&roots));
    lines.write_all(b"\n").expect("it reads");
    root.wait().expect("it ends");
    assert_eq!(both, 2);
    // Pages that other processes share too count less when more share them.
    assert!(alone > 0 && with_child > 0, "{alone} {with_child}");
    assert!(cpu_seconds(&mine) > before);
}

#[test]
fn numbers_and_times_have_three_digits_and_a_unit() {
    assert_eq!(number(1.234), "1.23");
    assert_eq!(number(85_123.4), "85,123");
    assert_eq!(number(1_234_567.0), "1,234,567");
    assert_eq!(time(0.000_25), "250 µs");
    assert_eq!(time(0.0123), "12.3 ms");
    assert_eq!(time(2.5), "2.5 s");
}

#[test]
fn a_table_marks_wide_quartiles_servers_that_were_not_the_limit_and_missed_rates() {
    let spread = |low, median, high| json!([low, median, high]);
    let figures = json!({
        "requests_per_second": spread(94.0, 100.0, 105.0), "busy": spread(0.5, 0.5, 0.5),
        "own_asked": spread(80.0, 80.0, 80.0), "own_rate": spread(60.0, 60.0, 60.0),
        "own_p99": spread(1.0, 1.0, 1.0),
    });
    let report = json!({
        "group": "qrcode", "date": "2026-01-01", "machine": "a machine", "versions": [], "method": "", "rounds": 3,
        "rows": [{"name": "node", "about": "", "figures": figures}], "left_out": ["cli: not built"],
    });
    let report: Report = serde_json::from_value(report).expect("a report");
    let text = report.markdown();
    assert!(text.contains("| node | 100 † § |  |  |  |  | 1.0 s ‡ |"), "{text}");
    assert!(text.contains("§ quartiles") && text.contains("Left out: cli"), "{text}");
    let problem = report.into_page("").expect_err("rows are missing").to_string();
    assert!(problem.contains("lacks rows"), "{problem}");
}

#[test]
fn rows_have_names_of_their_own_and_an_unknown_one_is_named() {
    for group in Group::value_variants() {
        let names: Vec<&str> = group.rows().iter().map(|row| row.name).collect();
        let distinct: BTreeSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
        let problem = group.chosen(&["apache".to_owned()]).expect_err("no such row").to_string();
        assert!(problem.contains("apache") && problem.contains(names[0]), "{problem}");
        let compared = group.rows().iter().filter_map(|row| group.baseline(row));
        assert!(compared.into_iter().all(|base| names.contains(&base)));
    }
}

/// So that no row is taken for unused, and none is promised that does not exist.
#[test]
fn the_page_names_each_floor_with_its_figure_and_no_other() {
    let file = repository().join("docs/choosing-a-rung.md");
    let page = std::fs::read_to_string(&file).expect("the page");
    let section = page.split("\n## ").find(|section| section.starts_with("Floors"));
    let pieces: Vec<&str> = section.expect("a section on floors").split('`').collect();
    // Code spans, and the text after each. A figure follows only a row's name.
    let is_named =
        |pair: &&[&str]| pair[1].trim_start().starts_with(|it: char| it.is_ascii_digit());
    let named = pieces[1..].chunks_exact(2).filter(is_named).map(|pair| pair[0]);
    let rows = Group::Floors.rows().iter().map(|row| row.name);
    assert_eq!(named.collect::<BTreeSet<_>>(), rows.collect::<BTreeSet<_>>());
}

#[test]
fn a_response_is_read_once_it_is_whole() {
    let read = |text: &'static str, ended| {
        Response::read(text.as_bytes(), ended).map(|it| it.map(|it| (it.status, it.body)))
    };
    let length = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";
    assert_eq!(read(length, false), Ok(Some((200, &b"ab"[..]))));
    assert_eq!(read(&length[..length.len() - 1], true), Ok(None));
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";
    assert_eq!(read(chunked, false), Ok(Some((200, &b"2\r\nab\r\n0\r\n\r\n"[..]))));
    assert_eq!(read(&chunked[..chunked.len() - 3], false), Ok(None));
    let to_the_end = "HTTP/1.0 200 OK\r\n\r\nabc";
    assert_eq!(read(to_the_end, false), Ok(None));
    assert_eq!(read(to_the_end, true), Ok(Some((200, &b"abc"[..]))));
    assert_eq!(read("HTTP/1.1 304 Not Modified\r\n\r\n", false), Ok(Some((304, &b""[..]))));
    assert!(read("SSH-2.0\r\n\r\n", false).is_err());
}

#[test]
fn memory_that_grows_is_a_complaint_of_a_soak() {
    let rounds =
        |last| [1, 40_000_000, last].map(|bytes| PartsMemory::from([("nginx".to_owned(), bytes)]));
    assert_eq!(grown(&rounds(52_000_000)), [""; 0]);
    assert_eq!(grown(&rounds(52_000_000)[..1]), [""; 0]);
    assert_eq!(grown(&rounds(60_000_000)), ["nginx grew from 40000000 to 60000000 bytes"]);
}
