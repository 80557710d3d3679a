//! Pairs of the relay. Each pair has bytes of its own, which both ends know.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

/// The longest silence of a server. Even a busy machine needs far less, so it means that an end waits for ever.
const SILENCE: Duration = Duration::from_secs(30);
const PIECE: usize = 64 << 10;

/// The end that leaves midway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaver {
    Nobody,
    Sender,
    Receiver,
}

/// One pair.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) key: String,
    pub(crate) bytes: u64,
    pub(crate) is_chunked: bool,
    pub(crate) sender_first: bool,
    /// The time between the halves.
    pub(crate) gap: Duration,
    /// The receiver's pause after each piece.
    pub(crate) pause: Duration,
    pub(crate) leaver: Leaver,
}

impl Pair {
    /// Plays both halves. Fails if an end that should have had a whole stream, or a clean cut after the other end left,
    /// saw something else.
    pub(crate) fn play(&self, proxy: SocketAddr) -> Result<(), String> {
        let (wait_sender, wait_receiver) = match self.sender_first {
            true => (Duration::ZERO, self.gap),
            false => (self.gap, Duration::ZERO),
        };
        let (sent, received) = thread::scope(|scope| {
            let sender = scope.spawn(move || {
                thread::sleep(wait_sender);
                self.send(proxy)
            });
            thread::sleep(wait_receiver);
            let received = self.receive(proxy);
            (sender.join().unwrap(), received)
        });
        let lines = || sent.as_deref().unwrap_or_default().to_owned();
        match (self.leaver, &received) {
            (Leaver::Nobody, Ok(())) if lines().contains("received successfully.") => Ok(()),
            (Leaver::Nobody, received) => Err(format!("receiver: {received:?}; sender: {sent:?}")),
            // The sender only has to learn that the stream is over.
            (Leaver::Receiver, _) => sent.map(drop).or_else(|error| match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                    Err(format!("the receiver left, and the sender waits: {error}"))
                }
                _ => Ok(()),
            }),
            (Leaver::Sender, Ok(())) => Err("a cut stream ended like a whole one".to_owned()),
            (Leaver::Sender, Err(error)) if error.kind() == io::ErrorKind::InvalidData => {
                Err(format!("the sender left: {error}"))
            }
            (Leaver::Sender, Err(_)) => Ok(()),
        }
    }

    fn connect(proxy: SocketAddr) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(proxy)?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        Ok(stream)
    }

    /// Sends everything, or the first half if the sender leaves. Returns the lines of the answer.
    fn send(&self, proxy: SocketAddr) -> io::Result<String> {
        let mut stream = Pair::connect(proxy)?;
        let framing = match self.is_chunked {
            true => "transfer-encoding: chunked".to_owned(),
            false => format!("content-length: {}", self.bytes),
        };
        let key = &self.key;
        write!(
            stream,
            "PUT /p/{key} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{framing}\r\n\r\n"
        )?;
        let mut content = Content::of(key);
        let end = if self.leaver == Leaver::Sender { self.bytes / 2 } else { self.bytes };
        let mut left = end;
        while left > 0 {
            let piece = content.next(left);
            left -= piece.len() as u64;
            if self.is_chunked {
                write!(stream, "{:x}\r\n", piece.len())?;
            }
            stream.write_all(piece)?;
            if self.is_chunked {
                stream.write_all(b"\r\n")?;
            }
        }
        if self.leaver == Leaver::Sender {
            // Otherwise a small half would be sent and gone before the receiver comes.
            thread::sleep(self.gap + Duration::from_millis(500));
            return Ok(String::new());
        }
        if self.is_chunked {
            stream.write_all(b"0\r\n\r\n")?;
        }
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// Reads everything and compares it, or the first half if the receiver leaves. The error `InvalidData` means a
    /// wrong byte.
    fn receive(&self, proxy: SocketAddr) -> io::Result<()> {
        let mut stream = Pair::connect(proxy)?;
        write!(stream, "GET /p/{} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", self.key)?;
        let mut stream = BufReader::with_capacity(PIECE, stream);
        let mut length = None;
        let mut line = String::new();
        for number in 0.. {
            line.clear();
            stream.read_line(&mut line)?;
            if number == 0 && !line.starts_with("HTTP/1.1 200 ") {
                return Err(io::Error::other(format!("answered {line:?}")));
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                length = value.trim().parse::<u64>().ok();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut content = Content::of(&self.key);
        let end = if self.leaver == Leaver::Receiver { self.bytes / 2 } else { self.bytes };
        let mut seen = 0;
        while let Some(chunk) = next_chunk(&mut stream, length, seen)? {
            let mut left = chunk;
            while left > 0 {
                let wanted = content.next(left);
                let mut got = vec![0; wanted.len()];
                stream.read_exact(&mut got)?;
                if got != wanted {
                    let text = format!("a byte after {seen} is another one");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, text));
                }
                left -= got.len() as u64;
                seen += got.len() as u64;
                if self.leaver == Leaver::Receiver && seen >= end {
                    return Ok(());
                }
                thread::sleep(self.pause);
            }
        }
        match seen == self.bytes {
            true => Ok(()),
            false => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("{seen} bytes of {} ended in order", self.bytes),
            )),
        }
    }
}

/// Reads the next chunk; `None` at the end of the body.
fn next_chunk(
    stream: &mut impl BufRead,
    length: Option<u64>,
    seen: u64,
) -> io::Result<Option<u64>> {
    if let Some(length) = length {
        return Ok((seen < length).then_some(length - seen));
    }
    let mut line = String::new();
    if seen > 0 {
        stream.read_line(&mut line)?; // the end of the previous chunk
        line.clear();
    }
    stream.read_line(&mut line)?;
    match u64::from_str_radix(line.trim(), 16) {
        Ok(0) => Ok(None),
        Ok(bytes) => Ok(Some(bytes)),
        Err(_) => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Bytes that differ for each key and are the same at both ends (xorshift64*, a generator without repetitions here).
struct Content {
    state: u64,
    buffer: Vec<u8>,
    at: usize,
}

impl Content {
    fn of(key: &str) -> Self {
        let hash = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let state = key.bytes().fold(0xcbf2_9ce4_8422_2325, hash);
        Content { state, buffer: Vec::new(), at: 0 }
    }

    /// The next bytes: at least one, at most `limit`.
    fn next(&mut self, limit: u64) -> &[u8] {
        if self.at == self.buffer.len() {
            self.buffer.clear();
            self.at = 0;
            for _ in 0..PIECE / 8 {
                self.state ^= self.state >> 12;
                self.state ^= self.state << 25;
                self.state ^= self.state >> 27;
                let word = self.state.wrapping_mul(0x2545_f491_4f6c_dd1d);
                self.buffer.extend_from_slice(&word.to_le_bytes());
            }
        }
        let rest = self.buffer.len() - self.at;
        let count = usize::try_from(limit).unwrap_or(rest).min(rest);
        self.at += count;
        &self.buffer[self.at - count..self.at]
    }
}
