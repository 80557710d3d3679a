//! Sends requests byte for byte and reads the raw answers.
//!
//! Written by hand because HTTP clients normalise or refuse what the cases send: raw `{` and `|` in a
//! query, lower-case methods, headers that are not ASCII.

use std::fmt;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::ops::Deref;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use http::Uri;

/// Timeout of connecting, and of each read or write.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Longest answer that is read.
const MAX_ANSWER_BYTES: u64 = 4 << 20;

/// The server under test.
#[derive(Clone, Debug)]
pub struct Target {
    host: String,
    port: u16,
}

/// An answer's head.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Answer {
    head: Head,
    pub(crate) body: Vec<u8>,
}

impl Deref for Answer {
    type Target = Head;

    fn deref(&self) -> &Head {
        &self.head
    }
}

impl Target {
    /// The server at `base`, `http://host:port`. Fails if `base` is invalid, or if no server can be reached there.
    pub fn new(base: &str) -> anyhow::Result<Self> {
        let url: Uri =
            base.parse().with_context(|| format!("{base:?} is not a URL like http://host:port"))?;
        let scheme = url.scheme_str();
        ensure!(scheme.is_some(), "{base:?} is not a URL like http://host:port");
        ensure!(scheme == Some("http"), "{base:?}: only http:// can be checked byte for byte");
        ensure!(
            url.path() == "/" && url.query().is_none(),
            "{base:?}: give only scheme, host and port"
        );
        let host = url.host().with_context(|| format!("{base:?} has no host"))?.to_owned();
        let target = Target { host, port: url.port_u16().unwrap_or(80) };
        target.connect().with_context(|| format!("cannot connect to {target}"))?;
        Ok(target)
    }

    pub(crate) fn connect(&self) -> anyhow::Result<TcpStream> {
        let host = self.host.trim_matches(['[', ']']);
        let mut error = None;
        for addr in (host, self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&addr, TIMEOUT) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(TIMEOUT))?;
                    stream.set_write_timeout(Some(TIMEOUT))?;
                    stream.set_nodelay(true)?;
                    return Ok(stream);
                }
                Err(e) => error = Some(e),
            }
        }
        match error {
            Some(error) => Err(error.into()),
            None => bail!("{host} has no address"),
        }
    }

    /// Sends a request byte for byte on a new connection, and reads the answer.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        query: Option<&str>,
        headers: &[(String, String)],
        body: &str,
    ) -> anyhow::Result<Answer> {
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        let mut request =
            format!("{method} {path}{query} HTTP/1.1\r\nHost: {self}\r\nConnection: close\r\n");
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() {
            request += &format!("Content-Length: {}\r\n", body.len());
        }
        request += &format!("\r\n{body}");
        let mut stream = self.connect()?;
        // Sending may fail and the answer still be valid: a server may refuse a large request before
        // it has read all of it.
        let sent = stream.write_all(request.as_bytes());
        let mut raw = Vec::new();
        let read = stream.take(MAX_ANSWER_BYTES).read_to_end(&mut raw);
        match parse(&raw, method == "HEAD") {
            Ok(answer) => Ok(answer),
            Err(error) => {
                sent.context("sending")?;
                read.context("reading the answer")?;
                Err(error)
            }
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Head {
    /// Parses a head. Returns it with its length in bytes; `None` if it is incomplete.
    pub(crate) fn parse(bytes: &[u8]) -> anyhow::Result<Option<(Self, usize)>> {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut response = httparse::Response::new(&mut headers);
        let parsed = response.parse(bytes).context("the answer is not HTTP/1.1")?;
        let httparse::Status::Complete(length) = parsed else { return Ok(None) };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let headers =
            response.headers.iter().map(|h| (h.name.to_ascii_lowercase(), text(h.value))).collect();
        Ok(Some((Head { status: response.code.unwrap_or_default(), headers }, length)))
    }

    /// The header's values, joined by commas. `name` must be in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let values: Vec<&str> = self
            .headers
            .iter()
            .filter(|(n, _)| n == name)
            .map(|(_, value)| value.as_str())
            .collect();
        (!values.is_empty()).then(|| values.join(", "))
    }

    /// The names of all headers, sorted.
    pub(crate) fn header_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names
    }
}

fn parse(raw: &[u8], is_to_head: bool) -> anyhow::Result<Answer> {
    let Some((head, start)) = Head::parse(raw)? else {
        ensure!(!raw.is_empty(), "the connection was closed without an answer");
        bail!("the answer ends before its head is complete");
    };
    let coding = head.header("transfer-encoding");
    let body = match coding.is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        true => join_chunks(&raw[start..])?,
        false => raw[start..].to_vec(),
    };
    if let Some(length) =
        head.header("content-length").filter(|_| !is_to_head && head.status != 304)
    {
        ensure!(
            length.parse() == Ok(body.len()),
            "Content-Length is {length}, but the body has {} bytes",
            body.len()
        );
    }
    Ok(Answer { head, body })
}

/// Decodes a chunked body (RFC 9112 section 7.1).
fn join_chunks(mut rest: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut body = Vec::new();
    while let httparse::Status::Complete((start, length)) =
        httparse::parse_chunk_size(rest).map_err(|_| anyhow::anyhow!("a chunk has no size"))?
    {
        if length == 0 {
            return Ok(body);
        }
        let end = start + usize::try_from(length)?;
        body.extend_from_slice(rest.get(start..end).context("a chunk is cut short")?);
        rest = rest.get(end + 2..).context("a chunk has no end")?;
    }
    bail!("the last chunk is missing")
}
