//! Answers that come while the client still sends. They must reach a client that gives up at its first failed write, as
//! nginx does, and what the client sends after them may cost only so much.

use axum::extract::{DefaultBodyLimit, Path};
use axum::http::{Request, StatusCode};
use axum::routing::{any, post};
use http_body_util::Full;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};

use super::*;

const STATUSES: [u16; 8] = [400, 401, 404, 405, 413, 415, 429, 503];
const BODY_BYTES: usize = 1_000_000;
const HOUR: Duration = Duration::from_secs(3600);

/// No timeout ends a connection, even if this process stands still for a while.
fn patient() -> Serving {
    Serving { idle_timeout: HOUR, write_timeout: None, drain_timeout: HOUR, ..serving() }
}

/// Answers with the status in the path and reads no body, except at `/length`.
fn refusing() -> Router {
    let refuse = async |Path(status): Path<u16>| (StatusCode::from_u16(status).unwrap(), "refused");
    Router::new()
        .route("/length", post(async |body: Bytes| body.len().to_string()))
        .route("/{status}", any(refuse))
        .layer(DefaultBodyLimit::disable())
}

/// The head of a request for this status, and its body.
fn request(status: u16, headers: &str) -> (String, Vec<u8>) {
    let body = vec![b'x'; BODY_BYTES];
    let head = format!("POST /{status} HTTP/1.1\r\nhost: x\r\n{headers}");
    if headers.contains("chunked") {
        let chunks = body.chunks(10_000).map(|chunk| [b"2710\r\n", chunk, b"\r\n"].concat());
        (head + "\r\n", chunks.collect::<Vec<_>>().concat())
    } else {
        (format!("{head}content-length: {BODY_BYTES}\r\n\r\n"), body)
    }
}

/// Sends all of a request, then reads the answer.
fn send(stream: &mut (impl Read + Write), head: &str, body: &[u8]) -> std::io::Result<String> {
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map(|_| answer)
}

fn early_answers_arrive(tries: usize) {
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("a.sock");
    let addresses = [unix(&socket), "127.0.0.1:0".parse().unwrap()];
    let server = start_on(&addresses, patient(), refusing());
    let mut asked = Vec::new();
    for status in STATUSES {
        for headers in ["", "transfer-encoding: chunked\r\n", "expect: 100-continue\r\n"] {
            asked.push((status, request(status, headers)));
        }
    }
    // hyper itself refuses these.
    asked.push((400, ("POST /200 HTTP/1.1\r\n\r\n".to_owned(), vec![b'x'; BODY_BYTES])));
    asked.push((431, ("GET / HTTP/1.1\r\na: ".to_owned(), vec![b'x'; BODY_BYTES])));
    for (status, (head, body)) in asked {
        for number in 0..tries {
            let answer = match number % 2 {
                0 => send(&mut connect(server.addr()), &head, &body),
                _ => send(&mut UnixStream::connect(&socket).unwrap(), &head, &body),
            };
            let answer = answer.unwrap_or_else(|error| panic!("{head}: {number}: {error}"));
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{head}: {answer}");
            assert!(answer.contains("\r\nconnection: close\r\n"), "{head}: {answer}");
        }
    }
}

#[test]
fn an_early_answer_reaches_a_client_that_sends_on() {
    early_answers_arrive(2);
}

/// A client that is still sending at a stop gets the answer that its request had before.
#[test]
fn an_early_answer_reaches_its_client_during_a_drain() {
    let (inside, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (entered, wait) = (Arc::clone(&inside), Arc::clone(&release));
    let refuse = async move || {
        entered.notify_one();
        wait.notified().await;
        StatusCode::SERVICE_UNAVAILABLE
    };
    let mut server = start(patient(), Router::new().route("/503", post(refuse)));
    let mut stream = connect(server.addr());
    let (head, body) = request(503, "");
    stream.write_all(head.as_bytes()).unwrap();
    runtime().block_on(inside.notified());
    server.stop();
    release.notify_one();
    let answer = send(&mut stream, "", &body).unwrap();
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    drop(stream);
    server.join();
}

/// Each refused body would take its part of the connection's flow-control window, if it were not given back. After 1024
/// such answers h2 ends a connection, as one of an attacker (ENHANCE_YOUR_CALM), so each status has its own.
fn over_http2_early_answers_arrive(tries: usize) {
    let server = start(Serving { protocol: Protocol::Http1And2, ..patient() }, refusing());
    for status in STATUSES {
        runtime().block_on(early_answers_arrive_over_http2(server.addr(), status, tries));
    }
}

async fn early_answers_arrive_over_http2(addr: SocketAddr, status: u16, tries: usize) {
    let stream = tokio::net::TcpStream::connect(addr).await.unwrap();
    let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (mut client, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    let mut ask = async |path: &str| {
        let request = Request::post(format!("http://x/{path}"));
        let body = Full::new(Bytes::from(vec![b'x'; BODY_BYTES]));
        let answer = client.send_request(request.body(body).unwrap()).await.unwrap();
        let status = answer.status().as_u16();
        (status, answer.into_body().collect().await.unwrap().to_bytes())
    };
    for _ in 0..tries {
        assert_eq!(ask(&status.to_string()).await, (status, "refused".into()));
    }
    assert_eq!(ask("length").await, (200, BODY_BYTES.to_string().into()));
}

#[test]
fn over_http2_the_connection_outlives_early_answers() {
    over_http2_early_answers_arrive(15);
}

/// A connection whose request was refused, and that goes on sending.
fn lingering(server: &Server) -> TcpStream {
    let mut stream = connect(server.addr());
    let (head, _) = request(404, "");
    assert!(send(&mut stream, &head, b"x").unwrap().ends_with("refused"));
    stream
}

#[test]
fn a_client_that_sends_for_ever_or_nothing_is_closed() {
    let idle = |idle_timeout| Serving { idle_timeout, ..patient() };
    let server = start(idle(Duration::from_secs(2)), refusing());
    let _silent = lingering(&server);
    assert_eq!(server.metric("http_requests_in_flight"), 0, "its answer has ended");
    assert_eq!(server.metric("http_connections_open"), 1);
    eventually("it is closed", || server.metric("http_connections_open") == 0);

    // At a stop it has less time.
    let mut server = start(idle(HOUR), refusing());
    let mut endless = lingering(&server);
    let piece = vec![b'x'; 1 << 20];
    let sent = (0..200).take_while(|_| endless.write_all(&piece).is_ok()).count();
    assert!(sent < 40, "{sent} MiB");
    let _silent = lingering(&server);
    server.stop();
    server.join();
}

#[test]
fn at_the_limit_a_connection_that_lingers_goes_before_those_that_are_kept() {
    let server = start(Serving { max_connections: 9, ..serving() }, refusing().merge(hello()));
    let _lingers = lingering(&server);
    let mut kept = [(); 8].map(|()| connect(server.addr()));
    for stream in &mut kept {
        assert!(ask(stream).unwrap().ends_with("hello"));
    }
    // An answer has a tenth of a second to arrive.
    thread::sleep(Duration::from_millis(200));
    assert!(ask(&mut connect(server.addr())).unwrap().ends_with("hello"));
    assert_eq!(server.metric("http_connections_shed_total"), 1);
    for stream in &mut kept {
        assert!(ask(stream).unwrap().ends_with("hello"));
    }
}

#[test]
fn at_the_limit_a_connection_is_kept_until_its_next_request_may_have_come() {
    let server = start(Serving { max_connections: 1, ..serving() }, hello());
    let mut kept = connect(server.addr());
    let began = Instant::now();
    assert!(ask(&mut kept).unwrap().ends_with("hello"));
    assert!(ask(&mut connect(server.addr())).unwrap().ends_with("hello"));
    assert!(began.elapsed() >= Duration::from_millis(100), "{:?}", began.elapsed());
}

/// Only `make test-all` runs these.
mod nightly {
    #[test]
    fn a_thousand_early_answers_of_each_kind_arrive() {
        super::early_answers_arrive(1000);
    }

    #[test]
    fn a_thousand_early_answers_of_each_kind_arrive_over_http2() {
        super::over_http2_early_answers_arrive(1000);
    }
}
