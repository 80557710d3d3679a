//! What clients see when parts fail.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use carve::local::{Share, Stack, http};
use contract::decode;
use rustix::process::{Pid, Signal, kill_process};
use service_kit::testing::{has_stopped, timed};

use crate::support;
use crate::support::{EndsLoad, client, get, holds_within, log_lines, post_json, start};

/// Sends requests over several connections while `meanwhile` runs, and panics at the first answer that is not the right
/// picture. `meanwhile` gets a function that returns how many requests qr-service and legacy-node have served. Returns
/// how many requests were sent again because nginx had closed their idle connection.
fn with_load(stack: &Stack, meanwhile: impl FnOnce(&dyn Fn() -> (usize, usize))) -> usize {
    let over = AtomicBool::new(false);
    let (new, old) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let asked_again = AtomicUsize::new(0);
    let url = stack.url();
    thread::scope(|scope| {
        for user in 0..4 {
            let (over, new, old, url) = (&over, &new, &old, &url);
            let asked_again = &asked_again;
            scope.spawn(move || {
                let mut client = client();
                for number in 0.. {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    let text = format!("user-{user}-{number}");
                    let url = format!("{url}/qrcode?text={text}");
                    let answer = http::get(&client, &url, &[]).or_else(|error| {
                        assert!(number > 0 && http::is_closed(&error), "{error}");
                        asked_again.fetch_add(1, Ordering::Relaxed);
                        client = support::client();
                        http::get(&client, &url, &[])
                    });
                    let answer = answer.unwrap();
                    assert_eq!(answer.status, 200, "{}", answer.text());
                    let decoded = decode::decode_png(&answer.body).unwrap();
                    assert_eq!(decoded.bytes, text.as_bytes());
                    let by_new = answer.served_by() == "qr-service";
                    (if by_new { new } else { old }).fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let _ends_load = EndsLoad(&over);
        meanwhile(&|| (new.load(Ordering::Relaxed), old.load(Ordering::Relaxed)));
    });
    asked_again.into_inner()
}

fn grows(count: impl Fn() -> usize) -> bool {
    let before = count();
    holds_within(Duration::from_secs(20), || count() > before + 20)
}

#[test]
fn killing_qr_service_under_load_loses_no_request() {
    let stack = start(|_| {});
    let asked_again = with_load(&stack, |served| {
        assert!(grows(|| served().0), "new serves at first");
        for _ in 0..2 {
            stack.signal_part("qr-service", Signal::KILL).unwrap();
            assert!(grows(|| served().0), "new serves again once it is restarted");
        }
        stack.supervisor.stop_part("qr-service").unwrap();
        assert!(grows(|| served().1), "old serves while new is gone");
        stack.start_part("qr-service").unwrap();
        assert!(grows(|| served().0), "new serves again");
    });
    assert_eq!(asked_again, 0, "clients notice nothing");
    let admin = stack.settings().addresses.of("old_admin");
    let metrics = get(&format!("http://{admin}/metrics"), &[]).text();
    let counted = metrics.lines().find(|line| line.starts_with("qr_fallback_requests_total"));
    assert!(counted.is_some_and(|line| !line.ends_with(" 0")), "{counted:?}");
}

#[test]
fn nginx_stops_asking_a_qr_service_that_hangs_and_tries_it_again_later() {
    let stack = start(|_| {});
    let url = format!("{}/qrcode?text=a", stack.url());
    stack.signal_part("qr-service", Signal::STOP).unwrap();
    let pid = stack.supervisor.pid_of("qr-service").unwrap().as_raw_nonzero().get().cast_unsigned();
    assert!(holds_within(Duration::from_secs(10), || has_stopped(pid)));
    let ask = || {
        let answer = get(&url, &[]);
        assert_eq!((answer.status, answer.served_by()), (200, "legacy-node"));
    };
    // These time out, so nginx marks qr-service as failed.
    thread::scope(|scope| (0..6).for_each(|_| drop(scope.spawn(ask))));
    // The next go to legacy-node at once; one may wait because nginx tries qr-service again.
    let mut times: Vec<Duration> = (0..20).map(|_| timed(ask).1).collect();
    times.sort();
    assert!(times[18] < Duration::from_secs(1), "{times:?}");
    stack.signal_part("qr-service", Signal::CONT).unwrap();
    let back = || get(&url, &[]).served_by() == "qr-service";
    assert!(holds_within(Duration::from_secs(15), back));
    let admin = stack.settings().addresses.of("old_admin");
    let metrics = get(&format!("http://{admin}/metrics"), &[]).text();
    let counted = metrics.lines().find_map(|line| line.strip_prefix("qr_fallback_requests_total "));
    let counted: f64 = counted.unwrap().parse().unwrap();
    assert!(counted >= 26.0, "{counted}");
}

#[test]
fn without_legacy_node_qrcode_is_served_and_other_routes_return_an_error() {
    let stack = start(|_| {});
    stack.supervisor.stop_part("legacy-node").unwrap();
    let url = stack.url();

    for split in [Share::ALL, Share::NONE] {
        stack.set_split("qrcode", split).unwrap();
        let picture = get(&format!("{url}/qrcode?text=a"), &[]);
        assert_eq!((picture.status, picture.served_by()), (200, "qr-service"), "{split}%");
    }

    let page = get(&url, &[("X-Request-Id", "seen-by-a-person")]);
    assert_eq!((page.status, page.header("content-type")), (502, "text/html; charset=utf-8"));
    assert!(page.text().contains("Back soon") && page.text().contains("seen-by-a-person"));
    assert!(!page.text().contains("nginx"));
    let hostile = get(&url, &[("X-Request-Id", "<script>alert(1)</script>")]);
    assert!(!hostile.text().contains("<script>"), "{}", hostile.text());

    // No log has the query of a failed request, however the route's path is written.
    for path in ["/qrcode/?text=secret", "//qrcode?text=secret", "/%71rcode?text=secret"] {
        assert_eq!(get(&format!("{url}{path}"), &[("Referer", "http://a/?secret")]).status, 502);
    }
    let large = post_json(&format!("{url}/qrcode/?text=secret"), &"a".repeat(20_000));
    assert_eq!(large.status, 413);
    log_lines(stack.settings(), "nginx", "\"status\":413", 1);
    let log = std::fs::read_to_string(stack.settings().requests_log()).unwrap();
    assert!(!log.contains("secret"), "{log}");

    let api = get(&format!("{url}/api/links"), &[]);
    assert_eq!(api.status, 502);
    let error: serde_json::Value = serde_json::from_slice(&api.body).unwrap();
    assert_eq!(error["error"]["code"], "unavailable");

    stack.supervisor.stop_part("qr-service").unwrap();
    let none = get(&format!("{url}/qrcode?text=a"), &[]);
    assert_eq!((none.status, none.text().as_str()), (502, "service unavailable, try again"));
    assert_eq!(none.header("cache-control"), "no-store");

    // nginx asks a failed server again after some seconds.
    stack.start_part("legacy-node").unwrap();
    assert!(holds_within(Duration::from_secs(10), || get(&url, &[]).status == 200));
    let by_old = || get(&format!("{url}/qrcode?text=a"), &[]).served_by() == "legacy-node";
    assert!(holds_within(Duration::from_secs(10), by_old));
}

#[test]
fn moving_the_split_under_load_loses_no_request() {
    let stack = start(|_| {});
    // nginx closes idle connections as it reloads: at most one per user and move of the share.
    let asked_again = with_load(&stack, |served| {
        for (percent, who) in [(0, 1), (100, 0), (0, 1), (100, 0)] {
            stack.set_split("qrcode", Share::percent(percent).unwrap()).unwrap();
            let count = || if who == 0 { served().0 } else { served().1 };
            assert!(grows(count), "{percent}%");
        }
    });
    assert!(asked_again <= 16, "{asked_again}");
}

/// Only `make test-all` runs these.
mod nightly {
    use super::*;

    #[test]
    fn a_supervisor_that_reads_no_log_stops_no_client_of_nginx() {
        const REQUESTS: usize = 2000; // nginx' lines of 150 requests fill a pipe
        let stack = start(|_| {});
        let supervisor = stack.supervisor.pid().unwrap();
        // nginx itself answers these, since the sides' logs have pipes of their own.
        let ask = || {
            let mut stream = TcpStream::connect(stack.settings().addresses.proxy).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
            let request = "TRACE / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).map(|_| answer)
        };
        kill_process(supervisor, Signal::STOP).unwrap();
        let answers: Vec<_> = (0..REQUESTS).map(|_| ask()).take_while(Result::is_ok).collect();
        kill_process(supervisor, Signal::CONT).unwrap();
        assert_eq!(answers.len(), REQUESTS, "then nginx hung");
        assert!(answers.iter().flatten().all(|answer| answer.starts_with("HTTP/1.1 405 ")));
        log_lines(stack.settings(), "nginx", "\"method\":\"TRACE\"", REQUESTS);
    }

    #[test]
    fn nothing_outlives_a_stack_that_is_killed() {
        let stack = start(|it| support::set(it, "old_workers", "2"));
        let mut processes: Vec<Pid> = Vec::new();
        let parts = stack.settings().parts().unwrap();
        for part in &parts {
            let pid = stack.supervisor.pid_of(part).unwrap();
            processes.push(pid);
            let children = format!("/proc/{0}/task/{0}/children", pid.as_raw_nonzero());
            let children = std::fs::read_to_string(children).unwrap();
            processes.extend(
                children.split_whitespace().map(|pid| Pid::from_raw(pid.parse().unwrap()).unwrap()),
            );
        }
        assert!(processes.len() >= parts.len() + 3, "with workers of legacy-node and nginx");
        kill_process(stack.supervisor.pid().unwrap(), Signal::KILL).unwrap();
        // A zombie counts as ended too.
        let stat = |pid: &Pid| std::fs::read_to_string(format!("/proc/{pid}/stat"));
        let gone = |pid: &Pid| stat(pid).map_or(true, |stat| stat.contains(") Z "));
        assert!(holds_within(Duration::from_secs(20), || processes.iter().all(gone)));
    }
}
