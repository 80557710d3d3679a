//! The proxy's routing, headers, limits and logs.

use std::collections::HashSet;
use std::fs;
use std::time::Duration;

use carve::local::Stack;
use contract::decode;
use service_kit::testing::exchange;

use crate::support::{get, holds_within, log_lines, post_json, start};

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
    let pid = stack.supervisor.pid_of("qr-service").unwrap().as_raw_nonzero();
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
    let line = log_lines(stack.settings(), "nginx", "over-the-socket", 1).remove(0);
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    let socket = stack.settings().run_dir.join("qr-service.sock");
    assert_eq!(line["upstream_addr"], format!("unix:{}", socket.display()), "{line}");
    let direct = format!("http://{}/qrcode?text=a", stack.settings().addresses.of("new"));
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
        let admin = stack.settings().addresses.of("old_admin");
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
    for side in ["new", "old"] {
        let headers = [("X-Request-Id", side), ("X-Route-Arm", side)];
        get(&format!("{url}/qrcode?text=a-secret-text"), &headers);
        log_lines(stack.settings(), "nginx", &format!("\"request_id\":\"{side}\""), 1);
    }
    let parts = stack.settings().parts().unwrap();
    let logs = parts.iter().map(|part| stack.settings().log_of(part));
    for file in logs.chain([stack.settings().requests_log()]) {
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
    let garbage = exchange(stack.settings().addresses.proxy, "\x16\x03\x01 nonsense\r\n\r\n");
    assert!(garbage.starts_with("HTTP/1.1 400 "), "{garbage}");
    // A text whose every byte is escaped is still within the limits.
    let escaped = get(&format!("{}/qrcode?text={}", stack.url(), "%61".repeat(512)), &[]);
    assert_eq!(escaped.status, 200);
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
