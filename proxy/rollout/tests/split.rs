//! `carve split` and `carve status`, with a real nginx.

use std::fs;
use std::net::TcpListener;

use rollout::{Lock, Share, SplitChange};
use rustix::process::Signal;
use service_kit::testing::has_all;

use crate::support;
use crate::support::{Place, eventually, routes, stderr};

#[test]
fn the_share_is_exact_and_a_key_that_has_moved_stays_moved() {
    let place = Place::new();
    place.succeeds(&["split", "--mirror", "0"]);
    let keys: Vec<String> = (0..20_000).map(|i| format!("https://example.com/{i}")).collect();
    let mut moved = vec![false; keys.len()];
    for percent in ["1", "5", "25", "50", "99"] {
        place.succeeds(&["split", percent]);
        let new = place.served_by_new(&keys);
        let share = new.iter().filter(|&&new| new).count() as f64 / 200.0;
        let wanted: f64 = percent.parse().unwrap();
        println!("{percent} %: {share} % served");
        assert!((share - wanted).abs() < 0.5, "{share} % served at {percent} %");
        assert!(moved.iter().zip(&new).all(|(before, now)| *now || !*before), "{percent} %");
        moved = new;
    }
}

#[test]
fn shares_of_0_and_100_and_hundredths_work() {
    let place = Place::new();
    let keys: Vec<String> = (0..2000).map(|i| i.to_string()).collect();
    for (percent, new) in [("100", 2000), ("0", 0)] {
        place.succeeds(&["split", percent]);
        let served = place.served_by_new(&keys);
        assert_eq!(served.iter().filter(|&&new| new).count(), new, "{percent} %");
    }
    for percent in ["0.01", "99.99", "33.33", "12.5"] {
        place.succeeds(&["split", percent]);
        let share: Share = percent.parse().unwrap();
        assert_eq!(place.share(), share.to_string());
    }
    let said = place.succeeds(&["status"]);
    assert!(said.contains("12.50% of parameter:text") && said.contains("the same"), "{said}");
}

#[test]
fn requests_with_the_same_key_go_to_the_same_side() {
    let place = Place::new();
    let get = |from: &str, cookie: &str| {
        let url = format!("http://{}/qrcode?text={}", place.at.proxy, fastrand::u64(..));
        let mut curl = std::process::Command::new("curl");
        curl.args(["-s", "--interface", from, "-H", cookie, &url]);
        String::from_utf8(curl.output().unwrap().stdout).unwrap()
    };
    // Returns whether each value always gets the same side, and whether both sides occur.
    let sticks = |answer: &dyn Fn(u8) -> String| {
        let answers: Vec<String> = (2..40).map(answer).collect();
        let again: Vec<String> = (2..40).map(answer).collect();
        (answers == again, answers.iter().any(|a| *a != answers[0]))
    };
    let by_address = |i: u8| get(&format!("127.0.0.{i}"), "X-A: b");
    let by_cookie = |i: u8| get("127.0.0.1", &format!("Cookie: a=b; user=u{i}"));
    place.succeeds(&["split", "50", "--key", "client"]);
    assert_eq!(sticks(&by_address), (true, true));
    place.succeeds(&["split", "--key", "cookie:user"]);
    assert_eq!(sticks(&by_cookie), (true, true));
    assert_eq!(sticks(&by_address), (true, true), "the address stands in for a missing cookie");
    place.succeeds(&["split", "--key", "request"]);
    assert_eq!(sticks(&by_address), (false, true));
    assert_eq!(place.share(), "50", "the share stays");
}

#[test]
fn an_invalid_value_is_named_and_changes_nothing() {
    let place = Place::new();
    let before = place.read("split.conf");
    for (args, named) in [
        (["split", "101"].as_slice(), "\"101\""),
        (&["split", "1.234"], "\"1.234\""),
        (&["split", "--mirror", "-1"], "'-1'"),
        (&["split", "5", "--key", "cookie"], "\"cookie\""),
        (&["split"], "<PERCENT>"),
        (&["ramp", "--steps", "5,1"], "\"5,1\""),
        (&["ramp", "--steps", "0,5"], "\"0,5\""),
        (&["ramp", "--hold", "soon"], "\"soon\""),
    ] {
        let said = place.fails(2, args);
        assert!(said.contains(named), "{args:?}: {said}");
    }
    let output = place.ramp(&["split", "5"]).env("RAMP_NGINX_DIR", "/nowhere").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("/nowhere") && stderr(&output).contains("RAMP_NGINX_DIR"));
    assert_eq!(place.read("split.conf"), before);
}

#[test]
fn a_file_that_nginx_rejects_leaves_the_old_one_in_force() {
    let place = Place::new();
    place.succeeds(&["split", "5"]);
    let before = place.read("split.conf");
    fs::write(place.file("listen.conf"), "listen nonsense nonsense;").unwrap();
    let said = place.fails(1, &["split", "25"]);
    assert!(said.contains("stays at 5%") && said.contains("listen.conf"), "{said}");
    assert_eq!(place.read("split.conf"), before);
    assert_eq!(place.share(), "5");
    assert!(!place.file("split.conf.before").exists());
}

#[test]
fn a_failed_reload_leaves_the_old_file_in_force() {
    let place = Place::new();
    // `nginx -t` accepts a port that is in use, but a reload fails on it.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = format!("{} listen {};", place.read("listen.conf"), taken.local_addr().unwrap());
    fs::write(place.file("listen.conf"), listen).unwrap();
    let before = place.read("split.conf");
    let said = place.fails(1, &["split", "25"]);
    assert!(said.contains("stays at 0%") && said.contains("does not serve"), "{said}");
    assert_eq!(place.read("split.conf"), before);
    assert_eq!(place.share(), "0");
}

#[test]
fn without_nginx_nothing_changes() {
    let mut place = Place::new();
    let before = place.read("split.conf");
    place.stop_nginx();
    let said = place.fails(1, &["split", "25"]);
    assert!(said.contains("no nginx runs") || said.contains("does not answer"), "{said}");
    assert_eq!(place.read("split.conf"), before);
    let said = place.succeeds(&["status"]);
    assert!(said.contains("0% of parameter:text") && said.contains("does not answer"), "{said}");
}

#[test]
fn a_second_command_is_refused_and_told_who_holds_the_lock() {
    let place = Place::new();
    let first = place.with_slow_nginx(&mut place.ramp(&["split", "5"]));
    let said = place.fails(1, &["split", "25"]);
    has_all(&said, &[&format!("process {}", first.0.id()), "split 5", "since"]);
    let said = place.succeeds(&["status"]);
    assert!(said.contains("in progress") && said.contains("split 5"), "{said}");
    assert_eq!(first.wait(), Some(0));
    assert_eq!(place.share(), "5");
    assert!(place.succeeds(&["status"]).contains("holder  none"));
}

#[test]
fn a_signal_in_the_middle_of_a_change_undoes_it() {
    let place = Place::new();
    for (number, which) in [(15, Signal::TERM), (2, Signal::INT)] {
        let before = place.read("split.conf");
        let process = place.with_slow_nginx(&mut place.ramp(&["split", "25"]));
        assert_ne!(place.read("split.conf"), before, "the new file is written");
        process.signal(which);
        assert_eq!(process.wait(), Some(128 + number));
        assert_eq!(place.read("split.conf"), before);
        assert_eq!(place.share(), "0");
    }
}

#[test]
fn the_next_command_undoes_a_killed_change_and_says_so() {
    let place = Place::new();
    place.succeeds(&["split", "5"]);
    let process = place.with_slow_nginx(&mut place.ramp(&["split", "25"]));
    process.signal(Signal::KILL);
    process.wait();
    let left = rollout::current(&place.nginx().route_dir()).unwrap();
    assert_eq!(left.share_percent.to_string(), "25", "the file is complete");
    let said = place.succeeds(&["status"]);
    assert!(said.contains("interrupted; before it: 5%") && said.contains("served  5%"), "{said}");
    assert!(said.contains("holder  none"), "{said}");

    let output = place.run(&["split", "50"]);
    assert!(output.status.success());
    has_all(&stderr(&output), &["interrupted; split.conf is back at 5%"]);
    assert_eq!(place.share(), "50");
    assert!(!place.succeeds(&["status"]).contains("interrupted"));
}

#[test]
fn prepare_undoes_a_killed_change() {
    let mut place = Place::new();
    let process = place.with_slow_nginx(&mut place.ramp(&["split", "25"]));
    process.signal(Signal::KILL);
    process.wait();
    place.stop_nginx();
    let dir = place.nginx().dir;
    let routes = &routes()[..1];
    rollout::prepare(&dir, routes, &SplitChange::default()).unwrap();
    let split = rollout::current(&place.nginx().route_dir()).unwrap();
    assert_eq!(split.share_percent, Share::NONE);
    let unchanged = place.read("split.conf");
    rollout::prepare(&dir, routes, &SplitChange::share(Share::NONE)).unwrap();
    assert_eq!(place.read("split.conf"), unchanged, "an unchanged split is not written again");
    place.start_nginx();
    assert_eq!(place.share(), "0");
}

#[test]
fn two_routes_move_independently() {
    let place = Place::with(&routes());
    let said = place.fails(1, &["split", "5"]);
    assert!(said.contains("which route?") && said.contains("qrcode, report"), "{said}");
    let said = place.fails(1, &["split", "reports", "5"]);
    assert!(said.contains("no route \"reports\"; the routes are qrcode, report"), "{said}");

    let keys: Vec<String> = (0..20_000).map(|i| i.to_string()).collect();
    place.succeeds(&["split", "report", "25"]);
    let before = place.served_by_new_at("/report/a?n=", &keys);
    // Both routes are moved at once: each move waits for the other's reload, and neither is refused.
    let sets: Vec<_> = [("qrcode", "40"), ("report", "25")]
        .map(|(route, share)| {
            let mut command = place.ramp(&["split", route, share]);
            support::Process(command.spawn().unwrap())
        })
        .into();
    assert!(sets.into_iter().all(|set| set.wait() == Some(0)));
    assert_eq!(place.share_of("qrcode"), "40");
    assert_eq!(place.served_by_new_at("/report/a?n=", &keys), before, "the same keys");
    let share = |new: &[bool]| new.iter().filter(|&&new| new).count() as f64 / 200.0;
    let (qrcode, report) = (share(&place.served_by_new(&keys)), share(&before));
    println!("40 %: {qrcode} %, 25 %: {report} % of 20,000");
    assert!((qrcode - 40.0).abs() < 0.5 && (report - 25.0).abs() < 0.5, "{qrcode} {report}");
}

#[test]
fn other_methods_and_other_spellings_of_a_path_are_the_apps() {
    let place = Place::with(&routes());
    place.succeeds(&["split", "report", "100"]);
    assert_eq!(place.get("/report/a"), (200, "new".to_owned()));
    assert_eq!(place.get("/report/%61%2fb"), (200, "new".to_owned()));
    for path in ["/report", "/%72eport/a", "/reports/a", "//report/a"] {
        assert_eq!(place.get(path), (200, "old".to_owned()), "{path}");
    }
    let url = format!("http://{}/report/a", place.at.proxy);
    let curl = std::process::Command::new("curl").args(["-s", "-d", "a=b", &url]).output().unwrap();
    assert_eq!(support::stdout(&curl), "old", "POST");
}

#[test]
fn a_dropped_lock_has_no_holder() {
    let place = Place::new();
    let dir = place.nginx().dir;
    drop(Lock::take(&dir).unwrap());
    // A process that another test starts holds all open files until it executes its program.
    let mut held = None;
    assert!(eventually(|| {
        held = Lock::take(&dir).ok();
        held.is_some()
    }));
    assert!(rollout::holder(&dir).is_some_and(|who| who.contains(&std::process::id().to_string())));
    drop(held);
    assert!(eventually(|| rollout::holder(&dir).is_none()));
}

#[test]
fn the_share_is_in_the_metrics_and_each_change_in_the_log() {
    let place = Place::new();
    place.succeeds(&["split", "12.5", "--mirror", "3"]);
    let url = format!("http://{}/ramp/metrics", place.at.admin);
    let metrics = || rollout::http::get(&url, std::time::Duration::from_secs(2)).unwrap();
    let has = |line: &str| metrics().1.lines().any(|found| found == line);
    assert!(eventually(|| has("ramp_share_percent{route=\"qrcode\"} 12.5")), "{:?}", metrics());
    assert!(has("ramp_mirror_share_percent{route=\"qrcode\"} 3.0"), "{:?}", metrics());
    let log = place.read("ramp.log");
    let line: serde_json::Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    assert_eq!((line["event"].as_str(), line["share_percent"].as_f64()), (Some("set"), Some(12.5)));
}
