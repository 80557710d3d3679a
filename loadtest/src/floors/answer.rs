//! What a row answers. All answer the same, so that none is faster because it says less.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde::Serialize;

use super::Floor;

/// The body of all rows that are floors.
const BODY: [u8; 420] = [b'Z'; 420];
/// The headers that all have.
const HEADERS: [&str; 3] = ["content-length", "content-type", "date"];

/// An answer, after a check that it is the one that all give.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// Bytes of head and body.
    pub bytes: usize,
    /// Headers beyond those of all rows, which the server cannot leave out.
    pub more_headers: Vec<String>,
}

/// Asks twice over one connection.
///
/// # Errors
/// What is different from the answer of all.
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
    ensure!(head.starts_with("HTTP/1.1 200 OK\r\n"), "answers {head:?}");
    let headers = head.lines().filter_map(|line| line.split_once(':'));
    let headers: BTreeMap<String, &str> =
        headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim())).collect();
    let of = |name: &str| headers.get(name).with_context(|| format!("no {name} in {head:?}"));
    let length: usize = of("content-length")?.parse()?;
    ensure!(*of("content-type")? == "image/png", "answers {head:?}");
    ensure!(of("date")?.ends_with(" GMT"), "answers {head:?}");
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    ensure!(!floor.is_static || body == BODY, "has another body, of {length} bytes");
    let more = headers.keys().filter(|name| !HEADERS.contains(&name.as_str()));
    Ok(Answer { bytes: head.len() + length, more_headers: more.cloned().collect() })
}
