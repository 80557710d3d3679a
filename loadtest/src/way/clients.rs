//! Clients that ask for a fixed number of pictures.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context, ensure};

/// Sends so many requests over so many kept connections: one on each, then all answers are read. `target` is what
/// precedes the text, `headers` are lines that each request has besides. Returns the connections, which are still open.
///
/// # Errors
/// If an answer is not 200.
pub fn ask(
    server: SocketAddr,
    requests: usize,
    connections: usize,
    (target, headers): (&str, &str),
) -> anyhow::Result<Vec<BufReader<TcpStream>>> {
    let connect = || TcpStream::connect(server).map(BufReader::new);
    let mut streams: Vec<_> =
        (0..connections).map(|_| connect()).collect::<Result<_, _>>().context("the server")?;
    let mut number = 0;
    while number < requests {
        let now = streams.len().min(requests - number);
        for stream in &mut streams[..now] {
            number += 1;
            // A link of 53 bytes, each another one.
            let head = format!(
                "GET {target}https%3A%2F%2Fexample.com%2Fcampaign%2F2026%2Fautumn%2F{number:010} \
                 HTTP/1.1\r\nHost: {server}\r\nUser-Agent: loadtest\r\nAccept: */*\r\n{headers}\r\n"
            );
            stream.get_mut().write_all(head.as_bytes())?;
        }
        streams[..now].iter_mut().try_for_each(read_answer)?;
    }
    Ok(streams)
}

fn read_answer(stream: &mut BufReader<TcpStream>) -> anyhow::Result<()> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        ensure!(stream.read_line(&mut head)? > 0, "the server closed a connection after {head:?}");
    }
    ensure!(head.starts_with("HTTP/1.1 200 "), "the server answered {head:?}");
    let headers = head.lines().filter_map(|line| line.split_once(": "));
    let mut lengths = headers.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let (_, length) = lengths.next().with_context(|| format!("no length in {head:?}"))?;
    stream.read_exact(&mut vec![0; length.parse()?])?;
    Ok(())
}
