//! Requests as this reads them, beside the same bytes served by hyper.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, Response, StatusCode, Version};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use proptest::prelude::*;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::Connection;
use super::head::{self, HeadEnd};
use super::pipe::{Pipes, Slot};
use super::source::SocketBody;
use crate::handler::Relay;
use crate::peer::Peer;

/// A request with its body; the body is `None` if it is broken or cut short.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    line: String,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
}

/// The requests in order, and whether the bytes after them were refused.
type Outcome = (Vec<Seen>, bool);

fn line(request: &http::request::Parts) -> String {
    format!("{} {} {:?}", request.method, request.uri, request.version)
}

async fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap());
    let (client, server) = tokio::join!(client, listener.accept());
    (client.unwrap(), server.unwrap().0)
}

/// A socket that gets these bytes, in two pieces, and then their end.
async fn sends(bytes: &[u8], cut: usize) -> (JoinHandle<TcpStream>, TcpStream) {
    let (mut client, server) = sockets().await;
    let (bytes, cut) = (bytes.to_vec(), cut.min(bytes.len()));
    let client = tokio::spawn(async move {
        // A server that refuses them may not take them all.
        let _ = client.write_all(&bytes[..cut]).await;
        tokio::task::yield_now().await;
        let _ = client.write_all(&bytes[cut..]).await;
        let _ = client.shutdown().await;
        client
    });
    (client, server)
}

async fn ours(bytes: &[u8], cut: usize, splices: bool) -> Outcome {
    let (_client, server) = sends(bytes, cut).await;
    let (_stops, stop) = watch::channel(false);
    let minute = Duration::from_secs(60);
    let relay = Relay::new(1, minute, 0);
    let mut connection =
        Connection { peer: Peer::new(server), relay, header_timeout: minute, stop };
    let (mut seen, mut ahead, pipes) =
        (Vec::new(), BytesMut::new(), Pipes::new(usize::from(splices)));
    loop {
        let Some(end) = connection.next_head(&mut ahead).await else { return (seen, false) };
        let HeadEnd::At(end, is_ambiguous) = end else { return (seen, true) };
        let parsed = head::parse(&connection.peer, ahead.split_to(end), true).await;
        let Some((request, framing)) = parsed else { return (seen, true) };
        let mut source = SocketBody::new(connection.peer.clone(), ahead, framing);
        let (mut body, mut slot) = (Some(Vec::new()), Slot::new(&pipes));
        loop {
            match source.next(&mut slot).await {
                Ok(Some(piece)) => {
                    let piece = slot.copy(&piece).unwrap();
                    body.as_mut().unwrap().extend_from_slice(&piece.bytes);
                }
                Ok(None) => break,
                Err(_) => {
                    body = None;
                    break;
                }
            }
        }
        let ends = body.is_none() || is_ambiguous || request.version == Version::HTTP_10;
        seen.push(Seen { line: line(&request), headers: request.headers, body });
        if ends {
            return (seen, false);
        }
        ahead = source.into_ahead();
    }
}

async fn hypers(bytes: &[u8]) -> Outcome {
    let (_client, server) = sends(bytes, 0).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&seen);
    let service = service_fn(move |request: Request<Incoming>| {
        let list = Arc::clone(&list);
        async move {
            let (request, body) = request.into_parts();
            let body = body.collect().await.ok().map(|body| body.to_bytes().to_vec());
            let line = line(&request);
            list.lock().unwrap().push(Seen { line, headers: request.headers, body });
            let mut response = Response::new(Empty::<Bytes>::new());
            // As the relay does; a CONNECT that succeeds would end HTTP.
            *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
            Ok::<_, Infallible>(response)
        }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .max_buf_size(head::MAX_HEAD_BYTES)
        .header_read_timeout(None)
        .half_close(true)
        .serve_connection(TokioIo::new(server), service)
        .await;
    let refused = served.is_err_and(|error| error.is_parse());
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (seen, refused)
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Compares the two, as far as this relay reads: it closes after HTTP/1.0, a broken body, and a head with two
/// lengths.
fn compare(bytes: &[u8], cut: usize, splices: bool) -> Result<(), TestCaseError> {
    let (ours, theirs) = run(async { (ours(bytes, cut, splices).await, hypers(bytes).await) });
    let (mine, refused) = ours;
    let (mut others, other_refused) = theirs;
    let ended = mine.last().is_some_and(|last| {
        let has = |name| bytes.to_ascii_lowercase().windows(16).any(|w| w.starts_with(name));
        last.body.is_none()
            || last.line.ends_with("HTTP/1.0")
            || has(&b"transfer-encodin"[..]) && has(&b"content-length"[..])
    });
    if ended && !refused {
        prop_assert!(others.len() >= mine.len());
        others.truncate(mine.len());
    } else {
        prop_assert_eq!(refused, other_refused, "{:?}", bytes.escape_ascii().to_string());
    }
    prop_assert_eq!(mine, others, "{:?}", bytes.escape_ascii().to_string());
    Ok(())
}

fn pick(choices: &'static [&'static str]) -> prop::sample::Select<&'static str> {
    prop::sample::select(choices)
}

/// A head that is often valid, and the lines that make it less so.
fn request() -> impl Strategy<Value = Vec<u8>> {
    let header = pick(&[
        "Host: x",
        "Content-Length: 5",
        "Content-Length: 5",
        "Content-Length: 0",
        "content-length:5 ",
        "Content-Length: 05",
        "Content-Length: +5",
        "Content-Length: 5, 5",
        "Content-Length: 6",
        "Content-Length: -1",
        "Content-Length: 99999999999999999999",
        "Content-Length:",
        "Transfer-Encoding: chunked",
        "Transfer-Encoding: chunked",
        "transfer-encoding: CHUNKED",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: chunked, gzip",
        "Transfer-Encoding: identity",
        "Transfer-Encoding : chunked",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding:\u{b}chunked",
        " folded",
        "\tfolded",
        "no colon",
        ": no name",
        "a b: c",
        "X: \u{1}",
        "Expect: 100-continue",
        "Connection: keep-alive",
        "Upgrade: h2c",
        "\u{e9}: x",
        "",
    ]);
    let start = (
        pick(&["GET", "PUT", "POST", "PUT", "get", "", "P T", "CONNECT", "PRI"]),
        pick(&[
            "/p/a",
            "/p/a?n=2",
            "*",
            "http://h/p/a",
            "",
            "/p/\u{1}",
            "h:1",
            "//p/a",
            "/p/\u{e9}",
        ]),
        pick(&[
            "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/1.2", "http/1.1", "",
        ]),
    );
    let end = pick(&["\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\n", "\r", "\r\r\n"]);
    let body = pick(&[
        "",
        "hello",
        "5\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\r\n\r\n",
        "5;a=b\r\nhello\r\n00\r\nT: x\r\n\r\n",
        "5 \r\nhello\r\n0\r\n\r\n",
        "5\nhello\n0\n\n",
        "5\r\nhelloX\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        "fffffffffffffffff\r\n",
        "5;\nx\r\nhello\r\n0\r\n\r\n",
        "\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\r\nbad\r\n\r\n",
        "5\r\nhello\r\n0\r\n",
        "3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
    ]);
    (start, prop::collection::vec((header, end.clone()), 0..5), end.clone(), end, body).prop_map(
        |((method, target, version), headers, first, last, body)| {
            let mut text = format!("{method} {target} {version}{first}");
            for (header, end) in headers {
                text += header;
                text += end;
            }
            (text + last + body).into_bytes()
        },
    )
}

/// One to three requests, with a byte or two replaced now and then.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let hit = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    let hits = prop_oneof![3 => Just(Vec::new()), 1 => hit];
    (prop::collection::vec(request(), 1..4), hits).prop_map(|(requests, hits)| {
        let mut bytes = requests.concat();
        for (place, byte) in hits {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes
    })
}

proptest! {
    /// PROPTEST_CASES sets how many.
    #[test]
    fn any_bytes_are_read_as_hyper_reads_them(
        bytes in bytes(),
        cut in any::<prop::sample::Index>(),
    ) {
        compare(&bytes, cut.index(bytes.len()), false)?;
    }

    #[test]
    fn chunks_of_any_size_come_through_pipes(
        sizes in prop::collection::vec(prop_oneof![1_usize..100, 10_000_usize..100_000], 0..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = b"PUT /p/a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for (number, size) in sizes.iter().enumerate() {
            bytes.extend(format!("{size:x}\r\n").bytes());
            bytes.extend((0..*size).map(|place| (place * 7 + number) as u8));
            bytes.extend(b"\r\n");
        }
        bytes.extend(b"0\r\n\r\nGET /p/b HTTP/1.1\r\n\r\n");
        let cut = cut.index(bytes.len());
        compare(&bytes, cut, true)?;
    }
}

#[test]
fn extensions_and_trailers_end_where_hypers_do() {
    let head = "PUT /p/a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    for count in [1, 16_382, 16_383, 16_384, 16_385] {
        let letters = "x".repeat(count);
        for text in [
            format!("{head}1;{letters}\r\na\r\n0\r\n\r\n"),
            format!("{head}1\r\na\r\n0\r\nt: {}\r\n\r\n", &letters[..count.saturating_sub(8)]),
        ] {
            compare(text.as_bytes(), 100, false).unwrap();
        }
    }
}

#[test]
fn heads_end_where_hypers_do_at_their_limits() {
    for (headers, bytes) in [(100, 10), (101, 10), (1, 60_000), (1, 200_000)] {
        let lines = format!("x: {}\r\n", "a".repeat(bytes)).repeat(headers);
        let text = format!("GET /p/a HTTP/1.1\r\n{lines}\r\n");
        compare(text.as_bytes(), 1000, false).unwrap();
    }
}
