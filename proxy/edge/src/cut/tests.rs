#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::Write;

use super::*;

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
    assert_eq!(errors.take().unwrap(), [2, 8]);
    file.write_all(rest.as_bytes()).unwrap();
    assert_eq!(errors.take().unwrap(), [5]);
    // What was read is gone, and nginx goes on at the beginning.
    assert_eq!(path.metadata().unwrap().len(), 0);
    assert!(errors.take().unwrap().is_empty());
    file.write_all(error(7, cut_short).as_bytes()).unwrap();
    assert_eq!(errors.take().unwrap(), [7]);
}
