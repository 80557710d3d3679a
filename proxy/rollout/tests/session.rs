//! The share of a route of sessions: its homes read it, and nginx is not reloaded. The homes here are small servers;
//! `carve/tests/relay.rs` uses the real ones.

use std::fs;
use std::path::PathBuf;

use service_kit::testing::has_all;

use crate::support::Place;
use crate::support::homes::{Home, nobody, place};

fn share_file(place: &Place) -> PathBuf {
    place.nginx_of("relay").route_dir().join("share")
}

/// The first line of the share file, which the homes use.
fn share(place: &Place) -> String {
    fs::read_to_string(share_file(place)).unwrap().lines().next().unwrap().to_owned()
}

fn set(percent: &str) -> [&str; 3] {
    ["split", "relay", percent]
}

/// The processes of nginx. A reload replaces the workers.
fn workers(place: &Place) -> String {
    let pid = fs::read_to_string(place.nginx().dir.join("nginx.pid")).unwrap();
    let pid = pid.trim();
    fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap()
}

#[test]
fn the_share_moves_without_a_reload_once_every_home_uses_it() {
    let homes = [Home::start(), Home::start()];
    let place = place(&homes.each_ref().map(|home| home.addr));
    for home in &homes {
        *home.file.lock().unwrap() = share_file(&place);
    }
    let before = workers(&place);
    assert_eq!(share(&place), "0");
    let said = place.succeeds(&set("12.5"));
    assert!(said.contains("12.50% of relay goes to the new side."), "{said}");
    assert_eq!(share(&place), "12.50");
    assert_eq!(place.share_of("relay"), "12.50");
    let said = place.succeeds(&["status", "relay"]);
    has_all(&said, &["share   12.50% of the sessions", "served  the same"]);

    homes[1].freeze();
    let said = place.fails(1, &set("50"));
    assert!(said.contains("the split stays at 12.50%"), "{said}");
    assert_eq!(share(&place), "12.50");
    homes[1].thaw();

    place.succeeds(&["rollback", "relay"]);
    assert!(place.fails(1, &set("50")).contains("stopped"), "a stopped route takes no share");
    place.succeeds(&["clear", "--reason", "a test", "relay"]);
    assert_eq!(share(&place), "0");
    assert_eq!(workers(&place), before, "nginx was reloaded");
    // If no route is named, the route that nginx splits by request is meant.
    assert!(place.succeeds(&["split", "30"]).contains("30% of qrcode"));
    assert_ne!(workers(&place), before);
}

#[test]
fn a_home_that_does_not_run_decides_nothing_and_without_any_nothing_moves() {
    let home = Home::start();
    let one = place(&[home.addr, nobody()]);
    *home.file.lock().unwrap() = share_file(&one);
    one.succeeds(&set("25"));
    assert_eq!(share(&one), "25");

    let none = place(&[nobody(), nobody()]);
    let said = none.fails(1, &set("25"));
    assert!(said.contains("no home of the route runs"), "{said}");
    assert_eq!(share(&none), "0");
    // The way back always works: it is a stop, which nginx reads.
    let said = none.succeeds(&set("0"));
    assert!(said.contains("relay is stopped"), "{said}");
}

#[test]
fn sessions_have_neither_key_nor_mirror() {
    let home = Home::start();
    let place = place(&[home.addr]);
    *home.file.lock().unwrap() = share_file(&place);
    for args in [["--key", "client"], ["--mirror", "10"]] {
        let said = place.fails(1, &["split", "relay", args[0], args[1]]);
        assert!(said.contains("judge = \"session\""), "{said}");
    }
}
