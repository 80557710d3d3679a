//! The proxy's routing, headers, limits and logs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::HashSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use carve::local::{Key, Part, Share, Stack, http};
use contract::decode;
use support::{get, holds_within, log_lines, post_json, start};

#[test]
fn qr_service_serves_qrcode_and_legacy_node_every_other_path() {
    let stack = start(|_| {});
    let url = stack.url();

    let picture = get(&format!("{url}/qrcode?text=https://example.com/?t=all"), &[]);
    assert_eq!((picture.status, picture.served_by()), (200, "qr-service"));
    assert_eq!(decode::decode_png(&picture.body).unwrap().bytes, b"https://example.com/?t=all");

    let page = get(&url, &[]);
    assert_eq!((page.status, page.served_by()), (200, "legacy-node"));
    let made = post_json(&format!("{url}/api/links"), r#"{"url":"https://example.com/long"}"#);
    assert_eq!((made.status, made.served_by()), (201, "legacy-node"));
    let made: serde_json::Value = serde_json::from_slice(&made.body).unwrap();
    let short = made["short_url"].as_str().unwrap_or_else(|| panic!("{made}"));
    assert!(short.starts_with(&url), "{short} leads through the proxy");
    let redirect = get(short, &[]);
    assert_eq!((redirect.status, redirect.header("location")), (302, "https://example.com/long"));

    // Only the path exactly as the contract writes it is the route.
    for path in ["/QRCODE?text=a", "/qrcode/?text=a", "/%71rcode?text=a", "//qrcode?text=a", "/qr"]
    {
        assert_eq!(get(&format!("{url}{path}"), &[]).served_by(), "legacy-node", "{path}");
    }
    for header in ["server", "x-powered-by"] {
        let said = get(&url, &[]).header(header).to_owned();
        assert!(!said.contains(|c: char| c.is_ascii_digit()), "{header}: {said}");
    }

    nginx_uses_the_socket_of_qr_service_and_people_its_port(&stack);
    qr_service_does_not_interrupt_nginx(&stack);
    a_client_can_choose_the_side(&url);
    a_client_cannot_set_the_fallback_header(&stack);
    every_answer_has_a_request_id(&stack);
    too_large_requests_get_the_servers_own_errors(&stack);
    only_the_admin_port_has_metrics_and_prometheus(&stack);
    prometheus_scrapes_every_part(&stack);
}

/// Each of its threads is a batch process for the kernel.
fn qr_service_does_not_interrupt_nginx(stack: &Stack) {
    const SCHED_BATCH: &str = "3"; // sched(7)
    let pid = stack.pid_of(Part::QrService).unwrap().as_raw_nonzero();
    for thread in fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
        let stat = fs::read_to_string(thread.unwrap().path().join("stat")).unwrap();
        // Field 41 of proc_pid_stat(5), counted from the second, which may contain spaces.
        let policy = stat.rsplit(')').next().unwrap().split_whitespace().nth(41 - 3);
        assert_eq!(policy, Some(SCHED_BATCH), "{stat}");
    }
}

fn nginx_uses_the_socket_of_qr_service_and_people_its_port(stack: &Stack) {
    let id = [("X-Request-Id", "over-the-socket")];
    get(&format!("{}/qrcode?text=a", stack.url()), &id);
    let line = log_lines(stack.settings(), Part::Nginx, "over-the-socket", 1).remove(0);
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    let socket = stack.settings().run_dir.join("qr-service.sock");
    assert_eq!(line["upstream_addr"], format!("unix:{}", socket.display()), "{line}");
    let direct = format!("http://{}/qrcode?text=a", stack.settings().addresses.new);
    assert_eq!(get(&direct, &[]).served_by(), "qr-service");
}

fn a_client_can_choose_the_side(url: &str) {
    let asked = |side| get(&format!("{url}/qrcode?text=a"), &[("X-Route-Arm", side)]);
    assert_eq!(asked("old").served_by(), "legacy-node");
    assert_eq!(asked("new").served_by(), "qr-service");
    for ignored in ["RUST", "node", "old, new", "new;", ""] {
        assert_eq!(asked(ignored).served_by(), "qr-service", "{ignored}");
    }
}

fn a_client_cannot_set_the_fallback_header(stack: &Stack) {
    let counted = || {
        let admin = stack.settings().addresses.old_admin;
        let metrics = get(&format!("http://{admin}/metrics"), &[]).text();
        metrics
            .lines()
            .find(|line| line.starts_with("qr_fallback_requests_total"))
            .map(str::to_owned)
    };
    let before = counted();
    assert!(before.is_some(), "legacy-node counts the requests it serves as the fallback");
    let headers = [("X-Route-Arm", "old"), ("X-Route-Fallback", "1")];
    assert_eq!(get(&format!("{}/qrcode?text=a", stack.url()), &headers).status, 200);
    assert_eq!(counted(), before);
}

fn every_answer_has_a_request_id(stack: &Stack) {
    let url = stack.url();
    let mut made = HashSet::new();
    for path in ["/", "/qrcode?text=a", "/qrcode", "/api/links", "/nothing"] {
        let answer = get(&format!("{url}{path}"), &[]);
        assert_eq!(answer.headers.get_all("x-request-id").iter().count(), 1, "{path}");
        assert!(made.insert(answer.header("x-request-id").to_owned()), "{path}: given twice");
    }
    assert!(!made.contains(""));
    for id in ["abc-123", &"x".repeat(128)] {
        let answer = get(&format!("{url}/qrcode?text=a"), &[("X-Request-Id", id)]);
        assert_eq!(answer.header("x-request-id"), id);
    }
    for id in ["", "two words", &"x".repeat(129)] {
        let answer = get(&format!("{url}/qrcode?text=a"), &[("X-Request-Id", id)]);
        assert_ne!(answer.header("x-request-id"), id);
    }
    for (side, part, name) in [("new", Part::QrService, "new"), ("old", Part::LegacyNode, "old")] {
        let id = format!("followed-{name}");
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        let parent = format!("00-{trace}-00f067aa0ba902b7-01");
        let headers =
            [("X-Request-Id", id.as_str()), ("X-Route-Arm", side), ("traceparent", &parent)];
        get(&format!("{url}/qrcode?text=a-secret-text"), &headers);
        for part in [Part::Nginx, part] {
            let line = log_lines(stack.settings(), part, &id, 1).remove(0);
            let line: serde_json::Value = serde_json::from_str(&line).unwrap();
            assert_eq!(line["request_id"], *id);
            assert_eq!(line["trace_id"], trace);
            assert_eq!(line["route"], "/qrcode");
            assert_eq!(line["status"], 200);
        }
    }
    let logs = Part::ALL.map(|part| stack.settings().log_of(part));
    for file in logs.into_iter().chain([stack.settings().requests_log()]) {
        let log = std::fs::read_to_string(&file).unwrap();
        assert!(!log.contains("secret"), "{} has the text", file.display());
    }
}

fn too_large_requests_get_the_servers_own_errors(stack: &Stack) {
    let long = get(&format!("{}/qrcode?text={}", stack.url(), "a".repeat(9000)), &[]);
    assert_eq!(long.status, 414);
    let large = get(&stack.url(), &[("X-Large", &"a".repeat(9000))]);
    assert_eq!(large.status, 431);
    let body = post_json(&format!("{}/api/links", stack.url()), &"a".repeat(20_000));
    assert_eq!(body.status, 413);
    for answer in [long, large, body] {
        assert_ne!(answer.header("x-request-id"), "", "{}", answer.status);
    }
    let garbage = raw(stack, b"\x16\x03\x01 nonsense\r\n\r\n");
    assert!(garbage.starts_with("HTTP/1.1 400 "), "{garbage}");
    // A text whose every byte is escaped is still within the limits.
    let escaped = get(&format!("{}/qrcode?text={}", stack.url(), "%61".repeat(512)), &[]);
    assert_eq!(escaped.status, 200);
}

/// Sends bytes as they are and returns the answer as text.
fn raw(stack: &Stack, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(stack.settings().addresses.proxy).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    // nginx may reset the connection after its answer.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn only_the_admin_port_has_metrics_and_prometheus(stack: &Stack) {
    let admin = format!("http://{}", stack.settings().addresses.proxy_admin);
    assert!(get(&format!("{admin}/stub_status"), &[]).text().contains("Active connections"));
    assert_eq!(get(&format!("{admin}/prometheus/-/ready"), &[]).status, 200);
    for path in ["/metrics", "/livez", "/readyz", "/stub_status", "/prometheus/-/ready"] {
        assert_eq!(get(&format!("{}{path}", stack.url()), &[]).status, 404, "{path}");
    }
}

fn prometheus_scrapes_every_part(stack: &Stack) {
    let prometheus = format!("http://{}/prometheus", stack.settings().addresses.prometheus);
    let up = |job: &str| {
        let answer = get(&format!("{prometheus}/api/v1/query?query=up%7Bjob=%22{job}%22%7D"), &[]);
        let found: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        found["data"]["result"][0]["value"][1] == "1"
    };
    for job in ["qr-service", "legacy-node", "shadow", "edge", "ramp", "prometheus"] {
        assert!(holds_within(Duration::from_secs(30), || up(job)), "{job} is not up");
    }
}

/// Sends each text and returns for each whether the split gave it to qr-service. After its timeout a side gets help
/// from the other one. So an answer that took as long as the shorter timeout does not show the split, and its text is
/// sent again.
fn given_to_new(stack: &Stack, texts: &[String]) -> Vec<bool> {
    const HELPED_AFTER: Duration = Duration::from_millis(900);
    let client = support::client();
    let ask = |text: &String| {
        let url = format!("{}/qrcode?text={text}", stack.url());
        for _ in 0..100 {
            let asked = Instant::now();
            let answer = http::get(&client, &url, &[]).unwrap();
            assert_eq!(answer.status, 200);
            if asked.elapsed() < HELPED_AFTER {
                return answer.served_by() == "qr-service";
            }
        }
        panic!("{text}: no answer within {HELPED_AFTER:?}");
    };
    texts.iter().map(ask).collect()
}

#[test]
fn the_share_can_be_a_share_of_requests() {
    let stack = start(|it| {
        (it.split, it.split_key) = (Some(Share::percent(50).unwrap()), Some(Key::Request));
    });
    let url = format!("{}/qrcode?text=one", stack.url());
    let new = (0..200).filter(|_| get(&url, &[]).served_by() == "qr-service").count();
    // The limits are six standard deviations away.
    assert!((57..=143).contains(&new), "{new} of 200");
}

/// Only `make test-all` runs these.
mod nightly {
    use super::*;

    #[test]
    fn a_share_is_a_share_of_the_texts_and_a_text_that_has_moved_stays_moved() {
        let texts: Vec<String> = (0..400).map(|i| format!("https://example.com/{i}")).collect();
        let few = &texts[..100];
        let stack = start(|it| it.split = Some(Share::NONE));
        assert!(given_to_new(&stack, few).iter().all(|new| !new), "0% is none");
        let mut before = vec![false; texts.len()];
        for percent in [5, 25, 50] {
            stack.set_split("qrcode", Share::percent(percent).unwrap()).unwrap();
            let now = given_to_new(&stack, &texts);
            let share = now.iter().filter(|&&new| new).count() as f64 / 4.0;
            // 400 texts and a fair hash: five standard deviations are at most 12.5 points.
            assert!((share - f64::from(percent)).abs() < 12.5, "{share}% at {percent}%");
            assert!(before.iter().zip(&now).all(|(before, now)| *now || !*before), "{percent}%");
            assert_eq!(now[..few.len()], given_to_new(&stack, few), "a text stays on its side");
            before = now;
        }
        stack.set_split("qrcode", Share::ALL).unwrap();
        assert!(given_to_new(&stack, few).iter().all(|&new| new), "100% is all");
    }
}
