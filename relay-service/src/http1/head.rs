//! Heads of HTTP/1: reads those of requests, with hyper's parser, and writes those of answers as hyper does.

use std::convert::Infallible;
use std::future::{Future, pending, poll_fn};
use std::io::Write as _;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::SystemTime;

use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http::{Request, Response, Version};
use http_body::Body as _;
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;

use super::chunks::Chunks;
use super::source::Framing;
use crate::peer::Peer;
use crate::replay::Replay;

/// Longest head; hyper answers 431 to a longer one.
pub(crate) const MAX_HEAD_BYTES: usize = 64 * 1024;
/// hyper's limit. One more, and it answers 431.
const MAX_HEADERS: usize = 100;

/// Where the first head in `bytes` ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadEnd {
    /// After so many bytes; whether it has both a Content-Length and a Transfer-Encoding, so that the
    /// connection must close after the answer (RFC 9112, section 6.3).
    At(usize, bool),
    /// It cannot become a head, or is too long: hyper refuses it.
    Never,
    /// It is not whole.
    NotYet,
}

/// Finds the end of the first head, with the parser that hyper has.
pub fn head_end(bytes: &[u8]) -> HeadEnd {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(end)) => {
            let has = |name: &str| {
                request.headers.iter().any(|header| header.name.eq_ignore_ascii_case(name))
            };
            HeadEnd::At(end, has("content-length") && has("transfer-encoding"))
        }
        Ok(httparse::Status::Partial) if bytes.len() < MAX_HEAD_BYTES => HeadEnd::NotYet,
        Ok(httparse::Status::Partial) | Err(_) => HeadEnd::Never,
    }
}

/// Whether `bytes` may hold a whole head: an empty line at or after `from`. As in hyper, a client that sends
/// byte by byte must not have its head parsed as often.
pub(crate) fn has_empty_line(bytes: &[u8], from: usize) -> bool {
    let bytes = &bytes[from.saturating_sub(2)..];
    bytes.windows(2).any(|two| two == b"\n\n") || bytes.windows(3).any(|three| three == b"\n\r\n")
}

/// Parses a head with hyper, which gets these bytes and, unless `is_whole`, reads on, to find out what is
/// wrong. `None` if hyper refuses the head; it has answered then.
pub(crate) async fn parse(
    peer: &Peer,
    bytes: BytesMut,
    is_whole: bool,
) -> Option<(Parts, Framing)> {
    let parsed = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&parsed);
    let service = service_fn(move |request: Request<Incoming>| {
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(request);
        // Never answered: hyper is dropped.
        pending::<Result<Response<Empty<Bytes>>, Infallible>>()
    });
    // Else hyper would take the first bytes of the body.
    let replay = Replay::new(peer.clone(), bytes, !is_whole);
    let connection = http1::Builder::new()
        .max_buf_size(MAX_HEAD_BYTES)
        .header_read_timeout(None)
        .half_close(true)
        .serve_connection(TokioIo::new(replay), service);
    let mut connection = pin!(connection);
    let request = poll_fn(|context| {
        let ended = connection.as_mut().poll(context);
        let request = parsed.lock().unwrap_or_else(PoisonError::into_inner).take();
        match (request, ended) {
            (Some(request), _) => Poll::Ready(Some(request)),
            (None, Poll::Ready(_)) => Poll::Ready(None),
            (None, Poll::Pending) => Poll::Pending,
        }
    });
    let (parts, body) = request.await?.into_parts();
    let framing = match body.size_hint().exact() {
        Some(length) => Framing::Length(length),
        None => Framing::Chunked(Chunks::default()),
    };
    Some((parts, framing))
}

/// What an answer's head says of its body.
#[derive(Clone, Copy)]
pub(crate) enum AnswerBody {
    /// Its headers have the length.
    Described,
    Length(usize),
    Chunked,
    UntilClose,
}

/// The head of an answer, with the date.
pub(crate) fn write<B>(
    response: &Response<B>,
    version: Version,
    body: AnswerBody,
    closes: bool,
) -> Vec<u8> {
    let mut head = Vec::with_capacity(256);
    let status = response.status();
    let reason = status.canonical_reason().unwrap_or_default();
    // Writing to a Vec cannot fail.
    let _ = write!(head, "{version:?} {} {reason}\r\n", status.as_str());
    for (name, value) in response.headers() {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    // HTTP/1.0 closes in any case.
    if closes && version != Version::HTTP_10 {
        head.extend_from_slice(b"connection: close\r\n");
    }
    let _ = match body {
        AnswerBody::Described | AnswerBody::UntilClose => Ok(()),
        AnswerBody::Length(length) => write!(head, "content-length: {length}\r\n"),
        AnswerBody::Chunked => write!(head, "transfer-encoding: chunked\r\n"),
    };
    let _ = write!(head, "date: {}\r\n\r\n", httpdate::fmt_http_date(SystemTime::now()));
    head
}
