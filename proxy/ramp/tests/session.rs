//! The share of a route of sessions: its homes read it, and nginx is not reloaded. The homes here are small
//! servers; `deploy/local/tests/relay.rs` has the real ones.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::{fs, thread};

use ramp::Route;
use support::{Place, routes};

/// Answers with the share file, or with what it read when it was frozen. It listens until the test ends, or
/// not at all.
struct Home {
    addr: SocketAddr,
    file: Arc<Mutex<PathBuf>>,
    frozen: Arc<Mutex<Option<String>>>,
}

impl Home {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let home = Home { addr, file: Arc::default(), frozen: Arc::default() };
        let (file, frozen) = (Arc::clone(&home.file), Arc::clone(&home.frozen));
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let _ = stream.read(&mut [0; 4096]);
                let now = || fs::read_to_string(&*file.lock().unwrap()).unwrap();
                let text = frozen.lock().unwrap().clone().unwrap_or_else(now);
                let length = text.len();
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}"
                );
            }
        });
        home
    }

    /// From now on it does not see changes.
    fn freeze(&self) {
        let text = fs::read_to_string(&*self.file.lock().unwrap()).unwrap();
        *self.frozen.lock().unwrap() = Some(text);
    }

    fn thaw(&self) {
        *self.frozen.lock().unwrap() = None;
    }
}

/// An address at which nobody listens.
fn nobody() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// The routes `qrcode` and `relay`, with homes at these admin listeners.
fn place(homes: &[SocketAddr]) -> Place {
    let nobody = nobody();
    let listed: Vec<String> = homes
        .iter()
        .map(|home| format!("{{ url = \"http://{nobody}\", admin = \"http://{home}\" }}"))
        .collect();
    let text = format!(
        "path = \"/p/*\"\njudge = \"session\"\nhomes = [{}]\nold.url = \"http://{nobody}\"\n\
         new.url = \"http://{nobody}\"\n",
        listed.join(", ")
    );
    Place::with(&[routes().remove(0), Route::parse("relay", &text).unwrap()])
}

fn share_file(place: &Place) -> PathBuf {
    place.nginx_of("relay").route_dir().join("share")
}

/// The first line, which is what homes use.
fn share(place: &Place) -> String {
    fs::read_to_string(share_file(place)).unwrap().lines().next().unwrap().to_owned()
}

fn set(percent: &str) -> [&str; 4] {
    ["set", percent, "--route", "relay"]
}

/// The processes of nginx: a reload replaces the workers.
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
    let said = place.succeeds(&["status", "--route", "relay"]);
    assert!(
        said.contains("share   12.50% of the sessions") && said.contains("served  the same"),
        "{said}"
    );

    homes[1].freeze();
    let said = place.fails(1, &set("50"));
    assert!(said.contains("the split stays at 12.50%"), "{said}");
    assert_eq!(share(&place), "12.50");
    homes[1].thaw();

    place.succeeds(&["stop", "--route", "relay"]);
    assert!(place.fails(1, &set("50")).contains("stopped"), "a stopped route takes no share");
    place.succeeds(&["clear", "--reason", "a test", "--route", "relay"]);
    assert_eq!(share(&place), "0");
    assert_eq!(workers(&place), before, "nginx was reloaded");
    // Where no route is named, the one whose requests are split by nginx is meant.
    assert!(place.succeeds(&["set", "30"]).contains("30% of qrcode"));
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
    // Back to the old side works whatever holds: it is a stop, which nginx sees.
    let said = none.succeeds(&set("0"));
    assert!(said.contains("relay is stopped"), "{said}");
}

#[test]
fn sessions_have_neither_key_nor_mirror() {
    let home = Home::start();
    let place = place(&[home.addr]);
    *home.file.lock().unwrap() = share_file(&place);
    for args in [["--key", "client"], ["--mirror", "10"]] {
        let said = place.fails(1, &["set", args[0], args[1], "--route", "relay"]);
        assert!(said.contains("judge = \"session\""), "{said}");
    }
}
