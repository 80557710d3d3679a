#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::Write;

use super::*;
use crate::counts::Counts;

const TAIL: &str = ", client: 127.0.0.1, server: , request: \"GET /a?b HTTP/1.1\", upstream: \"http://[::1]:1/a?b\"\n";

fn error(connection: u64, what: &str) -> String {
    format!("2026/01/01 00:00:00 [error] 7#7: *{connection} {what}{TAIL}")
}

#[test]
fn only_errors_after_the_head_are_cut_answers() {
    let cut_short = "upstream prematurely closed connection while reading upstream";
    let refused = "connect() failed (111: Connection refused) while connecting to upstream";
    let headless =
        "upstream prematurely closed connection while reading response header from upstream";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("errors.log");
    fs::write(&path, error(1, cut_short)).unwrap();
    let mut errors = Errors::beside(&folder.path().join("access.log"));
    assert!(errors.take().unwrap().is_empty()); // of an earlier nginx, perhaps
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    let reset = error(5, "recv() failed (104: Connection reset by peer) while reading upstream");
    let (begun, rest) = reset.split_at(50);
    let events = error(8, "upstream timed out (110: Connection timed out) while sending to client");
    let lines =
        [error(2, cut_short), events, error(3, refused), error(4, headless), begun.to_owned()];
    file.write_all(lines.concat().as_bytes()).unwrap();
    let server = b"[::1]:1/a?b\"".to_vec();
    let of = |connection| (connection, server.clone());
    assert_eq!(errors.take().unwrap(), [of(2), of(8)]);
    file.write_all(rest.as_bytes()).unwrap();
    assert_eq!(errors.take().unwrap(), [of(5)]);
    // What was read is gone, and nginx goes on at the beginning.
    assert_eq!(path.metadata().unwrap().len(), 0);
    assert!(errors.take().unwrap().is_empty());
    file.write_all(error(7, cut_short).as_bytes()).unwrap();
    assert_eq!(errors.take().unwrap(), [of(7)]);
}

#[test]
fn the_last_line_of_the_connection_from_this_server_is_the_cut_answer() {
    let mut counts = Counts::new(&["a".to_owned()]);
    let line = |side: &str, connection: u64| {
        let port = if side == "new" { 1 } else { 2 };
        format!(
            "1.000\ta\t{side}\t{side}\t200\t0.001\t9\t[::1]:{port}\tGET\ti\tt\tp\tc\t200\t0\t0\t0\t9\t\t\t{connection}\t\t\t\n"
        )
    };
    let now = Instant::now();
    counts.take(line("new", 3).as_bytes(), &mut false); // an earlier line, before the error
    counts.add_cut(vec![(3, b"[::1]:1/a".to_vec()), (4, b"[::1]:2/a".to_vec())], now);
    for (side, connection) in [("new", 3), ("old", 3), ("new", 4), ("old", 4), ("new", 5)] {
        counts.take(line(side, connection).as_bytes(), &mut false);
    }
    counts.take(line("new", 3).as_bytes(), &mut false);
    let cut = |counts: &Counts| counts.routes[0].cut.map(|count| count);
    let all =
        |counts: &Counts| counts.routes[0].requests.as_flattened().iter().flatten().sum::<u64>();
    counts.add_cut(Vec::new(), now + LAST_LINE / 2);
    assert_eq!((cut(&counts)[..2].to_vec(), all(&counts)), (vec![0, 0], 5)); // two lines are kept
    counts.add_cut(Vec::new(), now + LAST_LINE);
    assert_eq!((cut(&counts)[..2].to_vec(), all(&counts)), (vec![1, 1], 7));
    counts.take(line("new", 3).as_bytes(), &mut false);
    assert_eq!((cut(&counts)[..2].to_vec(), all(&counts)), (vec![1, 1], 8));
    // A line may also come late, up to a minute.
    let mut cuts = Cuts::default();
    cuts.add(vec![(6, Vec::new())], now);
    for (later, left) in [(LAST_LINE, 1), (FORGOTTEN, 0)] {
        cuts.add(Vec::new(), now + later);
        assert_eq!(cuts.0.len(), left, "{later:?}");
    }
}
