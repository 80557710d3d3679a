//! Senders and receivers: threads with plain sockets.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, ensure};

use crate::servers::rows::Row;
use crate::servers::server::Server;

/// Bytes per write, as with curl; with chunks, the size of a chunk.
const PIECE: usize = 64 * 1024;
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
/// A client that hears nothing for this long gives up.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How a body is framed: in chunks, or by its length.
fn framing(chunked: bool, bytes: u64) -> String {
    if chunked { "transfer-encoding: chunked".into() } else { format!("content-length: {bytes}") }
}

fn open(addr: SocketAddr) -> anyhow::Result<TcpStream> {
    let stream = TcpStream::connect(addr)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn ask(stream: &mut TcpStream, key: &str, n: usize) -> anyhow::Result<()> {
    write!(stream, "GET /p/{key}?n={n} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")?;
    Ok(())
}

fn head(key: &str, n: usize, framing: &str) -> String {
    format!("PUT /p/{key}?n={n} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{framing}\r\n\r\n")
}

/// Reads to the end of a message with so many bytes of body; returns the bytes after its head.
fn read_to_end(stream: &mut TcpStream, bytes: u64, chunked: bool) -> anyhow::Result<u64> {
    let mut buffer = vec![0; 1 << 20];
    let (mut got, mut head, mut last) = (0_u64, None, Vec::new());
    loop {
        let count = stream.read(&mut buffer).context("reading")?;
        ensure!(count > 0, "ended after {got} of {bytes} bytes");
        let piece = &buffer[..count];
        if head.is_none() {
            // Heads are short, and come in one piece.
            let end = piece.windows(4).position(|four| four == b"\r\n\r\n").context("no head")?;
            head = Some(end as u64 + 4);
        }
        got += count as u64;
        last.extend_from_slice(&piece[count.saturating_sub(LAST_CHUNK.len())..]);
        last.drain(..last.len().saturating_sub(LAST_CHUNK.len()));
        let body = got - head.unwrap_or_default();
        if body >= bytes && (!chunked || last == LAST_CHUNK) {
            return Ok(body);
        }
    }
}

fn joined<T>(thread: JoinHandle<anyhow::Result<T>>) -> anyhow::Result<T> {
    thread.join().map_err(|_| anyhow!("a client panicked"))?
}

/// Sends `bytes` zeros to `n` receivers; returns the time from the first byte sent to the last one received. Fails if a
/// client fails, or does not get all.
pub(super) fn stream(
    server: &Server,
    row: &Row,
    key: &str,
    n: usize,
    chunked: bool,
    bytes: u64,
) -> anyhow::Result<Duration> {
    let mut receivers = Vec::new();
    if row.is_relay() {
        for _ in 0..n {
            let mut stream = open(server.addr)?;
            ask(&mut stream, key, n)?;
            receivers.push(thread::spawn(move || read_to_end(&mut stream, bytes, chunked)));
        }
        // Time until the receivers wait.
        thread::sleep(Duration::from_millis(50));
    } else {
        let arrivals = server.arrivals.try_clone()?;
        receivers.push(thread::spawn(move || {
            let (mut stream, _) = arrivals.accept()?;
            stream.set_read_timeout(Some(TIMEOUT))?;
            let got = read_to_end(&mut stream, bytes, chunked)?;
            stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")?;
            Ok(got)
        }));
    }
    let mut sender = open(server.addr)?;
    let start = Instant::now();
    sender.write_all(head(key, n, &framing(chunked, bytes)).as_bytes())?;
    send(&mut sender, bytes, chunked)?;
    for receiver in receivers {
        joined(receiver).context("a receiver")?;
    }
    let took = start.elapsed();
    sender.read_to_end(&mut Vec::new()).context("the sender's answer")?;
    Ok(took)
}

fn send(sender: &mut TcpStream, bytes: u64, chunked: bool) -> anyhow::Result<()> {
    let piece = |count: usize| match chunked {
        true => [format!("{count:x}\r\n").as_bytes(), &vec![0; count], b"\r\n"].concat(),
        false => vec![0; count],
    };
    let whole = piece(PIECE);
    for _ in 0..bytes / PIECE as u64 {
        sender.write_all(&whole).context("sending")?;
    }
    let rest = bytes as usize % PIECE;
    if rest > 0 {
        sender.write_all(&piece(rest)).context("sending")?;
    }
    if chunked {
        sender.write_all(LAST_CHUNK)?;
    }
    Ok(())
}

/// Pairs a waiting receiver with a sender of a kilobyte, `times` times. Returns for each pair the seconds from the
/// sender's request to the receiver's head and to its last byte. Fails if a client fails.
pub(super) fn latencies(server: &Server, times: usize) -> anyhow::Result<Vec<[f64; 2]>> {
    let body = [b'x'; 1000];
    let mut all = Vec::with_capacity(times);
    for number in 0..times {
        let key = format!("latency-{number}");
        let mut receiver = open(server.addr)?;
        ask(&mut receiver, &key, 1)?;
        let mut sender = open(server.addr)?;
        thread::sleep(Duration::from_millis(2));
        let reading = thread::spawn(move || -> anyhow::Result<(Instant, Instant)> {
            let first = receiver.read(&mut [0])?;
            ensure!(first == 1, "no answer");
            let paired = Instant::now();
            let mut rest = vec![0; 4096];
            let mut got = 0;
            while !rest[..got].ends_with(&body) {
                let count = receiver.read(&mut rest[got..])?;
                ensure!(count > 0, "the answer ended early");
                got += count;
            }
            Ok((paired, Instant::now()))
        });
        thread::sleep(Duration::from_millis(1));
        let start = Instant::now();
        sender.write_all(&[head(&key, 1, "content-length: 1000").as_bytes(), &body].concat())?;
        let (paired, whole) = joined(reading)?;
        all.push([paired, whole].map(|end| end.duration_since(start).as_secs_f64()));
        sender.read_to_end(&mut Vec::new())?;
    }
    Ok(all)
}
