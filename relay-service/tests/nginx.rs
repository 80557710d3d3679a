//! Both relays behind nginx, which asks two homes for the side of each key.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use contract::Target;
use contract::relay::{Scenario, all, run};
use service_kit::testing::{Service, eventually, exchange, get};
use support::{Legacy, check_contract, relay_service};

/// nginx, two homes, and both sides; all end when dropped.
struct Edge {
    nginx: Child,
    addr: SocketAddr,
    homes: Vec<Service>,
    _old: Legacy,
    new: Service,
    folder: tempfile::TempDir,
}

impl Edge {
    fn start(share: &str) -> Self {
        Self::start_with(share, &[])
    }

    /// With settings of relay-service.
    fn start_with(share: &str, settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (Legacy::start(), relay_service(settings));
        let share_file = folder.path().join("share");
        std::fs::write(&share_file, share).unwrap();
        let homes: Vec<Service> = (0..2)
            .map(|_| {
                let mut command = Command::new(env!("CARGO_BIN_EXE_relay-home"));
                command.env("HOME_ADDR", "127.0.0.1:0").env("HOME_ADMIN_ADDR", "127.0.0.1:0");
                command.env("HOME_SHARE_FILE", &share_file);
                command.env("HOME_OLD_ADMIN_ADDR", &old.admin_addr);
                command.env("HOME_NEW_ADMIN_ADDR", new.admin_addr.to_string());
                Service::start(&mut command)
            })
            .collect();
        // nginx cannot pick a free port itself.
        let addr = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let config = include_str!("support/nginx.conf")
            .replace("HOME_A", &homes[0].addr.to_string())
            .replace("HOME_B", &homes[1].addr.to_string())
            .replace("OLD", &old.proxy_addr)
            .replace("NEW", &new.addr.to_string())
            .replace("LISTEN", &addr.to_string());
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, config).unwrap();
        let mut nginx = Command::new("nginx");
        nginx.args(["-e", "stderr", "-p"]).arg(folder.path()).arg("-c").arg(&file);
        let nginx = nginx.spawn().unwrap();
        let edge = Edge { nginx, addr, homes, _old: old, new, folder };
        eventually("nginx listens", || TcpStream::connect(addr).is_ok());
        edge
    }

    fn share_file(&self) -> PathBuf {
        self.folder.path().join("share")
    }

    /// Takes effect in both homes within moments.
    fn set_share(&self, share: &str) {
        let file = self.share_file();
        let next = file.with_extension("next");
        std::fs::write(&next, share).unwrap();
        std::fs::rename(&next, &file).unwrap();
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        // SIGTERM: its workers end with it.
        let _ = Command::new("kill").arg(self.nginx.id().to_string()).status();
        let _ = self.nginx.wait();
    }
}

#[test]
fn the_contract_holds_at_0_50_and_100_percent() {
    for (share, expected) in [
        ("0", &["legacy-node"][..]),
        ("50", &["legacy-node", "relay-service"]),
        ("100", &["relay-service"]),
    ] {
        let edge = Edge::start(share);
        let mut served_by = check_contract(&edge.addr.to_string(), true);
        served_by.sort();
        served_by.dedup();
        assert_eq!(served_by, expected, "at {share} %");
    }
}

/// Each scenario has several connections, between which the share moves; every one fails if its two
/// halves meet different sides, if a stream is cut, or if a byte is wrong.
#[test]
fn no_pair_is_stranded_while_the_share_moves_and_a_home_is_killed() {
    let mut edge = Edge::start("50");
    let target = Target::new(&format!("http://{}", edge.addr)).unwrap();
    let mut first_home = Some(edge.homes.remove(0));
    let scenarios: Vec<Scenario> = all().unwrap();
    let (rounds, moves) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let playing = scope.spawn(|| {
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_secs(15) {
                let report = run(&target, &scenarios, 24, true);
                if report.counts().1 > 0 {
                    return Err(report.to_string());
                }
                rounds.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        });
        while !playing.is_finished() {
            for share in ["0", "25", "50", "100", "0", "50"] {
                edge.set_share(share);
                moves.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(150));
            }
            if rounds.load(Ordering::Relaxed) > 0 {
                // SIGKILL.
                drop(first_home.take());
            }
        }
        if let Err(report) = playing.join().unwrap() {
            panic!("after {moves:?} moves: {report}");
        }
    });
    assert!(first_home.is_none(), "the home was not killed");
    let (rounds, moves) = (rounds.into_inner(), moves.into_inner());
    anstream::println!("{rounds} rounds of {} scenarios, {moves} moves", scenarios.len());
    assert!(rounds >= 2 && moves > 20, "{rounds} rounds, {moves} moves");
}

/// From the signal on the home sends new keys to the other side, and pairs under way end.
#[test]
fn a_side_that_drains_gets_no_new_keys_and_cuts_none() {
    let mut edge = Edge::start_with("100", &[("RELAY_SHUTDOWN_DELAY", "3s")]);
    let waiting = |edge: &Edge, key: &str| {
        let mut stream = TcpStream::connect(edge.addr).unwrap();
        write!(stream, "GET /p/{key} HTTP/1.0\r\n\r\n").unwrap();
        stream
    };
    let send = |edge: &Edge, key: &str| {
        let put =
            "PUT /p/KEY HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 5\r\n\r\nhello";
        exchange(edge.addr, &put.replace("KEY", key))
    };
    let before = waiting(&edge, "before");
    eventually("it waits", || {
        get(edge.new.admin_addr, "/metrics").contains("relay_waiting_keys 1\n")
    });
    edge.new.signal("TERM");
    eventually("it is not ready", || get(edge.new.admin_addr, "/readyz").contains(" 503 "));
    let after = waiting(&edge, "after");
    for (key, mut receiver, side) in
        [("before", before, "relay-service"), ("after", after, "legacy-node")]
    {
        let lines = send(&edge, key);
        assert!(lines.contains("received successfully."), "{key}: {lines}");
        let mut answer = String::new();
        receiver.read_to_string(&mut answer).unwrap();
        let answer = answer.to_ascii_lowercase();
        assert!(answer.ends_with("\r\n\r\nhello"), "{key}: {answer}");
        assert!(answer.contains(&format!("x-served-by: {side}\r\n")), "{key}: {answer}");
    }
    assert_eq!(edge.new.wait(), Some(0));
}
