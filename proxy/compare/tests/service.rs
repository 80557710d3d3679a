//! The shadow as a process: the requests that it receives and sends, the records that it keeps, and its shutdown.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use qr_core::Level;
use service_kit::testing::{eventually, exchange, get};

use crate::support::{
    Fake, Reply, command, compared, error, kept, metric, mirror, picture, png_answer, start,
    text_of,
};

#[test]
fn both_sides_get_the_request_with_only_its_host_its_id_and_the_shadows_mark() {
    let (new, old) = (Fake::correct(), Fake::correct());
    let shadow = start(&new.url(), &old.url(), &[]);
    let request = "GET /qrcode?text=a HTTP/1.1\r\nHost: public.example\r\nX-Request-Id: id-1\r\n\
        If-None-Match: *\r\nCookie: secret\r\nUser-Agent: browser\r\nConnection: close\r\n\r\n";
    assert!(exchange(shadow.addr, request).starts_with("HTTP/1.1 204 "));
    eventually("a comparison", || compared(&shadow) == 1.0);
    for side in [new, old] {
        let head = side.heads().remove(0).to_lowercase();
        let mut lines: Vec<&str> = head.trim_end().lines().collect();
        lines[1..].sort_unstable();
        let agent = concat!("user-agent: shadow/", env!("CARGO_PKG_VERSION"));
        let mut expected =
            ["host: public.example", agent, "x-request-id: id-1", "x-route-shadow: 1"];
        expected.sort_unstable();
        assert_eq!(lines[0], "get /qrcode?text=a http/1.1");
        assert_eq!(lines[1..], expected);
    }
}

#[test]
fn sides_are_asked_in_random_order_one_after_the_other() {
    let events = Arc::new(Mutex::new(Vec::new()));
    let side = |name: &'static str| {
        let events = Arc::clone(&events);
        Fake::start(move |_| {
            events.lock().unwrap().push((name, "asked"));
            std::thread::sleep(Duration::from_millis(2));
            events.lock().unwrap().push((name, "answers"));
            Reply::Keep(error(400, "no"))
        })
    };
    let (new, old) = (side("new"), side("old"));
    let shadow = start(&new.url(), &old.url(), &[]);
    for _ in 0..40 {
        mirror(&shadow, "GET", "/qrcode", "a");
    }
    eventually("all compared", || compared(&shadow) == 40.0);
    let events = events.lock().unwrap().clone();
    let mut firsts = Vec::new();
    for comparison in events.chunks(4) {
        let [first, _, second, _] = comparison else { panic!("{comparison:?}") };
        let whole =
            [(first.0, "asked"), (first.0, "answers"), (second.0, "asked"), (second.0, "answers")];
        assert_eq!(comparison, whole);
        assert_ne!(first.0, second.0);
        firsts.push(first.0);
    }
    assert!(firsts.contains(&"new") && firsts.contains(&"old"), "{firsts:?}");
    assert_eq!((new.connections(), old.connections()), (1, 1), "connections are reused");
}

#[test]
fn the_old_side_is_compared_with_itself_as_often_as_the_route_says() {
    let routes = tempfile::tempdir().unwrap();
    let route = "path = \"/qrcode\"\n[shadow]\nnoise = 50\n";
    std::fs::write(routes.path().join("qrcode.toml"), route).unwrap();
    // The old side's answers alternate.
    let number = AtomicU32::new(0);
    let old = Fake::start(move |_| {
        let number = number.fetch_add(1, Ordering::Relaxed);
        Reply::Keep(error(400, if number.is_multiple_of(2) { "even" } else { "odd" }))
    });
    let new = Fake::start(|_| Reply::Keep(error(400, "even")));
    let shadow = start(
        &new.url(),
        &old.url(),
        &[("SHADOW_ROUTES", routes.path().to_str().unwrap()), ("SHADOW_QUEUE_LENGTH", "1000")],
    );
    for _ in 0..200 {
        mirror(&shadow, "GET", "/qrcode", "a");
    }
    let noise = |result: &str| {
        metric(&shadow, &format!("shadow_noise_total{{route=\"qrcode\",result=\"{result}\"}}"))
    };
    eventually("all pairs", || compared(&shadow) + noise("match") + noise("mismatch") == 200.0);
    // Of 200 requests, each chosen with probability one half, fewer than 50 are chosen with a probability below 1e-12.
    assert!(compared(&shadow) >= 50.0 && noise("mismatch") >= 50.0, "{}", noise("mismatch"));
    assert_eq!(noise("match"), 0.0);
    let both = old.heads().len() - 2 * noise("mismatch") as usize;
    assert_eq!((both, new.heads().len()), (compared(&shadow) as usize, both));
}

#[test]
fn a_full_queue_drops_and_counts_and_every_answer_is_204_at_once() {
    let (new, old) = (Fake::start(|_| Reply::Hang), Fake::correct());
    let shadow = start(
        &new.url(),
        &old.url(),
        &[("SHADOW_QUEUE_LENGTH", "5"), ("SHADOW_REQUEST_TIMEOUT", "60s")],
    );
    let start = Instant::now();
    for i in 0..50 {
        mirror(&shadow, "GET", "/qrcode?text=a", &i.to_string());
    }
    // If the shadow answered only after the comparison, this would take a minute.
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    assert_eq!(metric(&shadow, "shadow_queue_depth"), 5.0);
    // One more request was taken from the queue and hangs.
    assert_eq!(metric(&shadow, "shadow_dropped_total{route=\"qrcode\"}"), 44.0);
    assert_eq!(compared(&shadow), 0.0);
}

#[test]
fn half_of_the_queue_is_for_requests_of_rare_shapes() {
    let (new, old) = (Fake::start(|_| Reply::Hang), Fake::correct());
    let settings = [("SHADOW_QUEUE_LENGTH", "1000"), ("SHADOW_REQUEST_TIMEOUT", "60s")];
    let shadow = start(&new.url(), &old.url(), &settings);
    for _ in 0..600 {
        mirror(&shadow, "GET", "/qrcode?text=a", "a");
    }
    assert_eq!(metric(&shadow, "shadow_queue_depth"), 500.0);
    for _ in 0..10 {
        mirror(&shadow, "GET", "/qrcode?size=9&text=a", "a");
    }
    assert_eq!(metric(&shadow, "shadow_queue_depth"), 510.0);
}

#[test]
fn a_hung_side_counts_as_timeouts_until_it_answers_again() {
    let hung = Arc::new(Mutex::new(true));
    let is_hung = Arc::clone(&hung);
    let new = Fake::start(move |head| match *is_hung.lock().unwrap() {
        true => Reply::Hang,
        false => Reply::Keep(png_answer(&picture(&text_of(head), Level::L, 200))),
    });
    let old = Fake::correct();
    let shadow = start(&new.url(), &old.url(), &[("SHADOW_REQUEST_TIMEOUT", "500ms")]);
    for _ in 0..3 {
        mirror(&shadow, "GET", "/qrcode?text=a", "a");
    }
    let timeouts = "shadow_comparisons_total{route=\"qrcode\",result=\"timeout\"}";
    eventually("timeouts", || metric(&shadow, timeouts) == 3.0);
    *hung.lock().unwrap() = false;
    // On a slow machine there may be more timeouts first.
    let mut sent = 3.0;
    eventually("a match", || {
        mirror(&shadow, "GET", "/qrcode?text=a", "a");
        sent += 1.0;
        metric(&shadow, "shadow_comparisons_total{route=\"qrcode\",result=\"match\"}") > 0.0
    });
    // A comparison counted between the two readings below would be in only one of them.
    eventually("all compared", || compared(&shadow) == sent);
    // Only answers have a time, and the old side has always answered.
    let count = |side: &str| {
        let labels = format!("{{route=\"qrcode\",side=\"{side}\"}}");
        metric(&shadow, &format!("shadow_response_seconds_count{labels}"))
    };
    assert!(count("new") > 0.0 && count("old") >= count("new") + 3.0);
}

#[test]
fn a_request_from_another_shadow_is_not_sent_again() {
    let (new, old) = (Fake::correct(), Fake::correct());
    let shadow = start(&new.url(), &old.url(), &[]);
    let marked =
        "GET /qrcode?text=a HTTP/1.1\r\nHost: x\r\nX-Route-Shadow: 1\r\nConnection: close\r\n\r\n";
    assert!(exchange(shadow.addr, marked).starts_with("HTTP/1.1 204 "));
    mirror(&shadow, "GET", "/qrcode?text=b", "b");
    eventually("a comparison", || compared(&shadow) == 1.0);
    assert_eq!(new.heads().len(), 1);
}

#[test]
fn the_last_hundred_mismatches_are_kept_and_failures_do_not_push_them_out() {
    let new = Fake::start(|head| match text_of(head).as_str() {
        "fails" => Reply::Keep(error(503, "")),
        _ => Reply::Keep(error(400, "one")),
    });
    let old = Fake::start(|_| Reply::Keep(error(400, "another")));
    let shadow = start(&new.url(), &old.url(), &[("SHADOW_QUEUE_LENGTH", "1000")]);
    for i in 0..105 {
        mirror(&shadow, "GET", "/qrcode", &format!("mismatch-{i}"));
    }
    for i in 0..105 {
        mirror(&shadow, "GET", "/qrcode?text=fails", &format!("failure-{i}"));
    }
    eventually("all compared", || compared(&shadow) == 210.0);
    let kept = kept(&shadow);
    for (sort, name) in [("mismatches", "mismatch"), ("failures", "failure")] {
        let records = kept[sort].as_array().unwrap().iter();
        let ids: Vec<&str> = records.map(|it| it["request_id"].as_str().unwrap()).collect();
        let newest_first: Vec<String> = (5..105).rev().map(|i| format!("{name}-{i}")).collect();
        assert_eq!(ids, newest_first);
    }
}

#[test]
fn the_text_is_shown_only_with_keep_text() {
    let echo = |head: &str| Reply::Keep(error(400, &format!("no {}", text_of(head))));
    let other = |head: &str| Reply::Keep(error(400, &format!("not {}", text_of(head))));
    let sesame = "0e90bec8c75def406f6faf35a6465dbb85ea6b3e4b603570208d3de5ce31a4d2";
    for (keep, shown) in [("0", false), ("1", true)] {
        let (new, old) = (Fake::start(echo), Fake::start(other));
        let environment = [("SHADOW_KEEP_TEXT", keep), ("SHADOW_LOG_LEVEL", "trace")];
        let mut shadow = start(&new.url(), &old.url(), &environment);
        mirror(&shadow, "GET", "/qrcode?text=open-sesame", "id-1");
        eventually("a mismatch", || compared(&shadow) == 1.0);
        let mismatches = get(shadow.admin_addr, "/mismatches");
        assert_eq!(mismatches.contains("sesame"), shown, "{mismatches}");
        let record = &kept(&shadow)["mismatches"][0];
        let digest = record["target"]["digest"].as_str().unwrap();
        assert_eq!(digest.len(), 64);
        assert_ne!(digest, sesame, "a guess could be tried");
        mirror(&shadow, "GET", "/qrcode?text=open-sesame", "id-2");
        eventually("another mismatch", || compared(&shadow) == 2.0);
        assert_eq!(kept(&shadow)["mismatches"][0]["target"]["digest"], digest, "the same text");
        let sizes = [&record["target"], &record["new"]["body"]].map(|it| &it["bytes"]);
        assert_eq!(sizes, [24, 14]);
        assert!(!get(shadow.admin_addr, "/metrics").contains("sesame"));
        shadow.signal("TERM");
        shadow.wait();
        let log = shadow.rest_of_log();
        assert!(!log.contains("sesame"), "{log}");
        assert!(log.contains("id-1") && log.contains("\"kind\":\"body\""), "{log}");
    }
}

#[test]
fn on_sigterm_queued_requests_are_compared_and_the_exit_code_is_0() {
    let slow = |_: &str| {
        std::thread::sleep(Duration::from_millis(50));
        Reply::Keep(error(400, "no"))
    };
    let (new, old) = (Fake::start(slow), Fake::start(slow));
    let mut shadow = start(&new.url(), &old.url(), &[]);
    assert!(get(shadow.admin_addr, "/readyz").starts_with("HTTP/1.1 200"));
    for _ in 0..10 {
        mirror(&shadow, "GET", "/qrcode", "a");
    }
    shadow.signal("TERM");
    eventually("not ready", || !get(shadow.admin_addr, "/readyz").starts_with("HTTP/1.1 200"));
    assert_eq!(shadow.wait(), Some(0));
    let log = shadow.rest_of_log();
    assert!(log.contains("\"drained\""), "{log}");
    assert_eq!((new.heads().len(), old.heads().len()), (10, 10));
}

#[test]
fn the_drain_timeout_ends_the_drain_and_the_log_says_how_many_are_left() {
    let hangs = || Fake::start(|_| Reply::Hang);
    let (new, old) = (hangs(), hangs());
    let mut shadow = start(
        &new.url(),
        &old.url(),
        &[("SHADOW_DRAIN_TIMEOUT", "200ms"), ("SHADOW_REQUEST_TIMEOUT", "60s")],
    );
    for _ in 0..4 {
        mirror(&shadow, "GET", "/qrcode", "a");
    }
    eventually("one is asked", || new.heads().len() + old.heads().len() == 1);
    shadow.signal("INT");
    assert_eq!(shadow.wait(), Some(0));
    let log = shadow.rest_of_log();
    assert!(log.contains("\"left\":3") && log.contains("were not compared"), "{log}");
}

#[test]
fn every_metric_exists_from_the_start() {
    let (new, old) = (Fake::correct(), Fake::correct());
    let shadow = start(&new.url(), &old.url(), &[]);
    let metrics = get(shadow.admin_addr, "/metrics");
    for line in [
        "shadow_comparisons_total{route=\"qrcode\",result=\"match\"} 0",
        "shadow_comparisons_total{route=\"qrcode\",result=\"timeout\"} 0",
        "shadow_mismatches_total{route=\"qrcode\",kind=\"undecodable\"} 0",
        "shadow_failures_total{route=\"qrcode\",side=\"new\",reason=\"connect\"} 0",
        "shadow_response_seconds_bucket{le=\"0.00005\",route=\"qrcode\",side=\"new\"} 0",
        "shadow_response_seconds_bucket{le=\"2.5\",route=\"qrcode\",side=\"old\"} 0",
        "shadow_response_bytes_count{route=\"qrcode\",side=\"old\"} 0",
        "shadow_dropped_total{route=\"qrcode\"} 0",
        "shadow_answers_total{route=\"qrcode\",side=\"new\",class=\"2xx\"} 0",
        "shadow_answers_total{route=\"qrcode\",side=\"old\",class=\"5xx\"} 0",
        "shadow_unknown_total 0",
        "shadow_queue_depth 0",
    ] {
        assert!(metrics.lines().any(|l| l == line), "{line} in\n{metrics}");
    }
    assert!(metrics.contains("process_cpu_seconds_total ") && metrics.ends_with("# EOF\n"));
}

#[test]
fn a_bad_setting_is_reported_in_one_line_before_anything_listens() {
    for (variable, value) in [
        ("SHADOW_ADDR", "localhost"),
        ("SHADOW_ADMIN_ADDR", "127.0.0.1:99999"),
        ("SHADOW_ROUTES", "/nowhere"),
        ("SHADOW_NEW_URL", "127.0.0.1:42069"),
        ("SHADOW_OLD_URL", "ftp://127.0.0.1:3000"),
        ("SHADOW_QUEUE_LENGTH", "0"),
        ("SHADOW_CONCURRENCY", "65"),
        ("SHADOW_CPU_PERCENT", "0"),
        ("SHADOW_REQUEST_TIMEOUT", "0s"),
        ("SHADOW_KEEP_TEXT", "maybe"),
        ("SHADOW_DRAIN_TIMEOUT", "10"),
        ("SHADOW_LOG_LEVEL", "loud"),
    ] {
        let output = command("shadow", &[(variable, value)]).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{variable}={value}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.contains(variable), "{variable}={value}: {error}");
        assert!(output.stdout.is_empty());
    }
}
