//! Both relays behind nginx, which asks two homes for the side of each key. nginx runs `proxy/nginx.conf` and the files
//! rendered from `proxy/routes/relay.toml`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use contract::Target;
use contract::relay::{Scenario, all, run};
use relay_service::home::homes::LEASE;
use rustix::process::Signal;
use service_kit::free_addresses;
use service_kit::testing::{Service, eventually, exchange, get};

use crate::support::clients::{head, read_until, receive, rest, serves_at, waiting};
use crate::support::edge::{Edge, home, served_by};
use crate::support::{Legacy, metric, relay_service};

/// Two homes notice a restart of a side, or a change of the share, at different moments; a key must still get only one
/// side.
#[test]
fn a_home_goes_by_what_another_one_gave_until_that_one_has_gone() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (relay_service(&[]), relay_service(&[]));
    let old_admin = old.admin_addr.to_string();
    let admins = free_addresses(2).unwrap();
    let share = |name: &str, share: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, share).unwrap();
        file
    };
    let (zero, all) = (share("zero", "0"), share("all", "100"));
    let delay = [("HOME_SHUTDOWN_DELAY", "1s")];
    let mut first = home(&zero, (&old_admin, &new), (admins[0], admins[1]), &delay);
    let second = home(&all, (&old_admin, &new), (admins[1], admins[0]), &[]);
    assert_eq!([side(&first, "a"), side(&second, "a")], ["old", "old"]);
    assert_eq!([side(&second, "b"), side(&first, "b")], ["new", "new"]);
    // A home that hangs does not delay the other for long.
    first.signal("STOP");
    let begin = Instant::now();
    assert_eq!(side(&second, "c"), "new");
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    first.signal("CONT");
    // A home that stops still tells what it gave, even after the delay, when nginx can no longer ask it.
    assert_eq!(side(&first, "d"), "old");
    let begin = Instant::now();
    first.signal("TERM");
    eventually("it is not ready", || get(first.admin_addr, "/readyz").contains(" 503 "));
    assert_eq!([side(&second, "d"), side(&second, "e")], ["old", "new"]);
    assert_eq!(first.wait(), Some(0));
    assert!(begin.elapsed() >= Duration::from_secs(2), "{:?}", begin.elapsed());
    assert_eq!(side(&second, "f"), "new");
}

/// nginx waits 5 s for a home, and then asks the other one, which may give another side.
#[test]
fn a_side_that_hangs_holds_up_many_keys_no_longer_than_one() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (relay_service(&[]), relay_service(&[]));
    let old_admin = old.admin_addr.to_string();
    let admins = free_addresses(2).unwrap();
    let all = folder.path().join("all");
    std::fs::write(&all, "100").unwrap();
    let home = home(&all, (&old_admin, &new), (admins[0], admins[1]), &[]);
    new.signal("STOP");
    let begin = Instant::now();
    // Six times as many as a home asks at once.
    std::thread::scope(|scope| {
        let asked: Vec<_> = (0..96)
            .map(|i| {
                scope.spawn({
                    let home = &home;
                    move || side(home, &i.to_string())
                })
            })
            .collect();
        for asked in asked {
            assert_eq!(asked.join().unwrap(), "old");
        }
    });
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
    new.signal("CONT");
}

#[test]
fn a_home_of_a_stopped_route_gives_the_new_side_what_waits_there() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (relay_service(&[]), relay_service(&[]));
    let zero = folder.path().join("zero");
    std::fs::write(&zero, "0").unwrap();
    let admins = free_addresses(2).unwrap();
    let home = home(&zero, (&old.admin_addr.to_string(), &new), (admins[0], admins[1]), &[]);
    let _receiver = receive(new.addr, "held");
    eventually("it waits", || waiting(&new) == 1.0);
    for (key, lines, expected) in [
        ("held", "x-route-stopped: 1\r\n", "new"),
        ("free", "x-route-stopped: 1\r\n", "old"),
        ("stopped", "x-route-stopped: 1\r\nx-route-arm: new\r\n", "old"),
        ("chosen", "x-route-arm: new\r\n", "new"),
        ("chosen", "x-route-stopped: 1\r\n", "new"),
    ] {
        assert_eq!(side_with(&home, key, lines), expected, "{key}: {lines:?}");
    }
}

/// The side that a home gives for a key.
fn side(home: &Service, key: &str) -> String {
    side_with(home, key, "")
}

fn side_with(home: &Service, key: &str, lines: &str) -> String {
    let head = format!("GET / HTTP/1.1\r\nhost: x\r\nx-key: /p/{key}\r\n{lines}");
    let answer = exchange(home.addr, &format!("{head}connection: close\r\n\r\n"));
    answer.lines().find_map(|line| line.strip_prefix("x-home: ").map(str::to_owned)).unwrap()
}

/// From the signal on the home sends new keys to the other side, and pairs under way end.
#[test]
fn a_side_that_drains_gets_no_new_keys_and_cuts_none() {
    let mut edge = Edge::start_with("100", &[("RELAY_SHUTDOWN_DELAY", "3s")]);
    let before = edge.receive("before", "");
    edge.wait_for_waiting(1);
    edge.new.signal("TERM");
    eventually("it is not ready", || get(edge.new.admin_addr, "/readyz").contains(" 503 "));
    let after = edge.receive("after", "");
    for (key, receiver, side) in
        [("before", before, "relay-service"), ("after", after, "legacy-node")]
    {
        assert_eq!(edge.complete(key, receiver), side, "{key}");
    }
    assert_eq!(edge.new.wait(), Some(0));
}

/// A client that waits on the new side still meets its other half there. Every new key goes to the old side at once,
/// whatever the share and the client say.
#[test]
fn a_stop_sends_new_keys_to_the_old_side_and_strands_nobody() {
    let edge = Edge::start("100");
    // Held for so long that the home's lease has expired.
    let waits_long = edge.receive("long", "");
    edge.wait_for_waiting(1);
    std::thread::sleep(LEASE + Duration::from_millis(500));
    let waits_short = edge.receive("short", "");
    edge.wait_for_waiting(2);
    edge.stop();
    let begin = Instant::now();
    let fresh = edge.receive("fresh", "X-Route-Arm: new\r\n");
    assert_eq!(edge.complete("fresh", fresh), "legacy-node");
    anstream::println!("a new key is on the old side {:?} after the stop", begin.elapsed());
    for (key, receiver) in [("long", waits_long), ("short", waits_short)] {
        assert_eq!(edge.complete(key, receiver), "relay-service", "{key}");
    }
    // The new side no longer holds the key.
    let again = edge.receive("long", "");
    assert_eq!(edge.complete("long", again), "legacy-node");
}

#[test]
fn a_stop_waits_for_no_home_and_no_side_that_hangs() {
    let edge = Edge::start("100");
    edge.stop();
    let timed = |key: &str, expected: &str| {
        let begin = Instant::now();
        let receiver = edge.receive(key, "");
        // The receiver's own question is under way at the same time.
        assert_eq!(edge.complete(key, receiver), "legacy-node", "{expected}");
        anstream::println!("{expected}: {:?}", begin.elapsed());
    };
    edge.new.signal("STOP");
    timed("side", "the new side hangs");
    edge.new.signal("CONT");
    for home in &edge.homes {
        home.signal("STOP");
    }
    timed("homes", "both homes hang");
    for home in &edge.homes {
        home.signal("CONT");
    }
}

#[test]
fn a_client_may_choose_the_side_of_a_key_that_nobody_holds() {
    let edge = Edge::start("0");
    let chosen = edge.receive("chosen", "X-Route-Arm: new\r\n");
    edge.wait_for_waiting(1);
    // The other half needs no header, and cannot tear the pair apart with another.
    let lines = edge.send("chosen", "X-Route-Arm: old\r\n");
    assert_eq!(served_by(&lines.to_ascii_lowercase()), "relay-service");
    drop(chosen);
    let other = edge.receive("other", "");
    assert_eq!(edge.complete("other", other), "legacy-node");
}

/// A client that sends the shadow's mark changes neither the access log, from which `edge` counts, nor a relay's
/// counts.
#[test]
fn a_pair_is_in_the_access_log_and_counted_though_its_clients_send_the_shadows_mark() {
    let edge = Edge::start("100");
    let receiver = edge.receive("logged", "X-Route-Shadow: 1\r\n");
    let lines = edge.send("logged", "X-Route-Shadow: 1\r\n");
    assert_eq!(served_by(&lines.to_ascii_lowercase()), "relay-service");
    let answer = rest(receiver);
    assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
    eventually("the pair is counted", || {
        metric(&edge.new, "relay_pairs_total{end=\"whole\"}") == 1.0
    });
    let log = edge.folder.path().join("edge/access.log");
    let fields =
        |line: &str| line.split('\t').skip(1).take(4).map(str::to_owned).collect::<Vec<_>>();
    eventually("both halves are logged", || {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let lines: Vec<Vec<String>> = text.lines().map(fields).collect();
        lines.len() == 2 && lines.iter().all(|line| *line == ["relay", "new", "new", "200"])
    });
}

/// Otherwise every new share of another route would cut streams after ten seconds.
#[test]
fn a_reload_cuts_no_stream() {
    let edge = Edge::start("50");
    let mut sender = TcpStream::connect(edge.addr).unwrap();
    write!(sender, "PUT /p/reload HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhello").unwrap();
    let mut receiver = edge.receive("reload", "");
    let mut head = [0; 16];
    receiver.read_exact(&mut head).unwrap();
    edge.nginx.signal(Signal::HUP);
    std::thread::sleep(Duration::from_secs(12));
    write!(sender, "world").unwrap();
    let rest = rest(receiver);
    assert!(rest.ends_with("\r\n\r\nhelloworld"), "{rest}");
}

/// Only `make test-all` runs these.
mod nightly {
    use super::*;

    /// The first home gives up waiting for a side. The second one asks meanwhile, and gets that side's answer.
    #[test]
    fn a_home_goes_by_what_another_one_gave_while_a_side_let_it_wait() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (Legacy::start(), relay_service(&[]));
        let admins = free_addresses(2).unwrap();
        let all = folder.path().join("all");
        std::fs::write(&all, "100").unwrap();
        let first = home(&all, (&old.admin_addr, &new), (admins[0], admins[1]), &[]);
        let second = home(&all, (&old.admin_addr, &new), (admins[1], admins[0]), &[]);
        new.signal("STOP");
        std::thread::scope(|scope| {
            let gives_up = scope.spawn(|| side(&first, "a"));
            std::thread::sleep(Duration::from_secs(1));
            let hears = scope.spawn(|| side(&second, "a"));
            assert_eq!(gives_up.join().unwrap(), "old");
            new.signal("CONT");
            assert_eq!(hears.join().unwrap(), "old");
        });
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
                // At least one round after the home was killed, however slow the machine is.
                while begin.elapsed() < Duration::from_secs(15)
                    || rounds.load(Ordering::Relaxed) < 2
                {
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
        assert!(moves > 20, "{rounds} rounds, {moves} moves");
    }

    /// A pair that was silent for 366 s on the old side once ended with six of ten bytes.
    #[test]
    fn a_pair_that_is_silent_for_more_than_six_minutes_goes_on_on_either_side() {
        let edges = ["0", "100"].map(Edge::start);
        let mut pairs = Vec::new();
        for (edge, index) in edges.iter().flat_map(|edge| (0..6).map(move |index| (edge, index))) {
            let key = format!("silent-{index}");
            // Half of the receivers keep their connection, and half of the senders tell no length.
            let version = ["1.0", "1.1"][index % 2];
            let framing = ["content-length: 10", "transfer-encoding: chunked"][index / 2 % 2];
            let pieces: [&[u8]; 2] = match index / 2 % 2 {
                0 => [b"hello,", b"late"],
                _ => [b"6\r\nhello,\r\n", b"4\r\nlate\r\n0\r\n\r\n"],
            };
            let mut receiver = TcpStream::connect(edge.addr).unwrap();
            write!(receiver, "GET /p/{key} HTTP/{version}\r\nhost: x\r\nconnection: close\r\n\r\n")
                .unwrap();
            let mut sender = TcpStream::connect(edge.addr).unwrap();
            sender.write_all(head(&key, framing).as_bytes()).unwrap();
            sender.write_all(pieces[0]).unwrap();
            read_until(&mut receiver, b"hello,");
            pairs.push((sender, receiver, pieces[1]));
        }
        std::thread::sleep(Duration::from_secs(380));
        for (mut sender, receiver, last) in pairs {
            sender.write_all(last).unwrap();
            let (rest, lines) = (rest(receiver), rest(sender));
            assert!(rest.contains("late"), "{rest:?}, and the sender was told {lines}");
            assert!(lines.contains("received successfully."), "{lines}");
        }
    }

    /// Of 14 senders, one was told of a success although its receiver had left after two bytes.
    #[test]
    fn a_sender_is_told_of_success_only_if_its_receiver_got_everything() {
        for share in ["0", "100"] {
            let edge = Edge::start(share);
            let large = vec![b'x'; 64 << 20];
            for round in 0..20 {
                let key = format!("leaves-{round}");
                let mut receiver = receive(edge.addr, &key);
                let mut sender = TcpStream::connect(edge.addr).unwrap();
                // More than all buffers hold, so that bytes remain when the receiver leaves, whoever is faster.
                let mut rest = sender.try_clone().unwrap();
                let (head, body) = (head(&key, "content-length: 67108864"), &large);
                std::thread::scope(|scope| {
                    scope.spawn(move || {
                        // The relay closes the connection before it has read everything.
                        let _ =
                            sender.write_all(head.as_bytes()).and_then(|()| sender.write_all(body));
                    });
                    read_until(&mut receiver, b"xx");
                    drop(receiver);
                    let mut lines = Vec::new();
                    let _ = rest.read_to_end(&mut lines);
                    let lines = String::from_utf8(lines).unwrap();
                    assert!(!lines.contains("successfully"), "{share} % {round}: {lines}");
                });
                // The key is free, and the next pair whole.
                serves_at(edge.addr, &key);
            }
        }
    }
}
