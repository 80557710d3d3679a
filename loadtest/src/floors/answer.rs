//! What a row answers. All answer the same, so that none is faster because it says less.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde::Serialize;

use super::rows::Floor;

/// The body of all rows that are floors.
pub(super) const BODY: [u8; 420] = [b'Z'; 420];
/// The lines of the head that all have, in any order. RFC 9110 gives the case of names no meaning.
const HEAD: [&str; 4] =
    ["HTTP/1.1 200 OK", "content-length: 420", "content-type: image/png", "date: DATE"];

/// An answer, after a check that it is the one that all give.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// Bytes of head and body.
    pub bytes: usize,
    /// Lines of its head that are not those of all.
    pub other_lines: Vec<String>,
}

/// Asks twice over one connection.
///
/// # Errors
/// What is different from the answer of all, unless the row says why.
pub(super) fn ask(addr: SocketAddr, floor: &Floor) -> anyhow::Result<Answer> {
    let stream = TcpStream::connect(addr)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut stream = BufReader::new(stream);
    ask_once(&mut stream, addr, floor)?;
    ask_once(&mut stream, addr, floor).context("the second request of a connection")
}

fn ask_once(
    stream: &mut BufReader<TcpStream>,
    addr: SocketAddr,
    floor: &Floor,
) -> anyhow::Result<Answer> {
    let head = format!("GET {} HTTP/1.1\r\nHost: {addr}\r\n\r\n", floor.target);
    stream.get_mut().write_all(head.as_bytes())?;
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        ensure!(stream.read_line(&mut head)? > 0, "closed after {head:?}");
    }
    let lines: Vec<String> = head.trim_end().split("\r\n").map(normal).collect();
    let length = lines.iter().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.with_context(|| format!("no length in {head:?}"))?.parse()?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    let other_lines = other_lines(&lines, floor).with_context(|| format!("answers {head:?}"))?;
    ensure!(!floor.is_static || body == BODY, "has another body, of {length} bytes");
    Ok(Answer { bytes: head.len() + length, other_lines })
}

/// A line of a head with its name in small letters and without the date's value.
fn normal(line: &str) -> String {
    let Some((name, value)) = line.split_once(": ") else { return line.to_owned() };
    let name = name.to_ascii_lowercase();
    let is_date = name == "date" && value.len() == 29 && value.ends_with(" GMT");
    format!("{name}: {}", if is_date { "DATE" } else { value })
}

/// The lines that are not those of all.
fn other_lines(lines: &[String], floor: &Floor) -> anyhow::Result<Vec<String>> {
    let missing: Vec<&str> =
        HEAD.into_iter().filter(|line| !lines.iter().any(|mine| mine == line)).collect();
    let mut other: Vec<String> =
        lines.iter().filter(|line| !HEAD.contains(&line.as_str())).cloned().collect();
    let differs = lines.len() != HEAD.len() || !other.is_empty() || !missing.is_empty();
    ensure!(!differs || floor.differs.is_some(), "it lacks {missing:?}, adds {other:?}");
    // A row may say more, or say it otherwise; nothing that matters may be missing.
    if floor.is_static {
        let status = |line: &&str| line.eq_ignore_ascii_case("HTTP/1.1 200 OK");
        let answers_200 = lines[0].eq_ignore_ascii_case(HEAD[0]);
        ensure!(answers_200 && missing.iter().all(status), "it lacks {missing:?}");
    } else {
        // Its values are its own and change: only their names are kept.
        ensure!(lines[0] == HEAD[0], "it answers {}", lines[0]);
        other.iter_mut().for_each(|line| line.truncate(line.find(':').unwrap_or(line.len())));
        other.retain(|name| !HEAD.iter().any(|line| line.starts_with(&format!("{name}:"))));
    }
    Ok(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floors::FLOORS;

    fn lines(head: &str) -> Vec<String> {
        head.split("\r\n").map(normal).collect()
    }

    fn row(name: &str) -> &'static Floor {
        FLOORS.iter().find(|row| row.name == name).expect(name)
    }

    const SAME: &str = "HTTP/1.1 200 OK\r\nDate: Mon, 23 Nov 2026 06:07:08 GMT\r\n\
                        Content-Type: image/png\r\nContent-Length: 420";

    #[test]
    fn the_same_lines_in_another_order_and_case_are_the_same() {
        assert!(other_lines(&lines(SAME), row("hyper")).expect("the same").is_empty());
    }

    #[test]
    fn a_line_more_needs_a_reason() {
        let more = format!("{SAME}\r\nServer: nginx");
        assert!(other_lines(&lines(&more), row("hyper")).is_err());
        let said = other_lines(&lines(&more), row("nginx")).expect("it has a reason");
        assert_eq!(said, ["server: nginx"]);
    }

    #[test]
    fn a_missing_or_a_second_line_is_refused() {
        let without = SAME.replace("Content-Type: image/png\r\n", "");
        assert!(other_lines(&lines(&without), row("nginx")).is_err());
        let twice = format!("{SAME}\r\ncontent-length: 420");
        assert!(other_lines(&lines(&twice), row("hyper")).is_err());
    }

    #[test]
    fn a_date_in_another_format_is_refused() {
        let other = SAME.replace(" GMT", " UTC");
        assert!(other_lines(&lines(&other), row("hyper")).is_err());
    }
}
