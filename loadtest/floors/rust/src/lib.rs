//! The parts that all servers share: the address, the answer and the timeouts.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use anyhow::Context;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioTimer;
use socket2::{Domain, Socket, Type};

/// The body that every server answers with.
pub static BODY: &str = match std::str::from_utf8(&[b'Z'; 420]) {
    Ok(body) => body,
    Err(_) => unreachable!(),
};
/// Its type.
pub const CONTENT_TYPE: &str = "image/png";
/// The only path.
pub const PATH: &str = "/qrcode";

/// How long a client may take for the head of a request.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection may wait for its next request.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Reads the first argument. Fails if it is missing or wrong.
pub fn address() -> anyhow::Result<SocketAddr> {
    std::env::args().nth(1).context("usage: ADDRESS")?.parse().context("ADDRESS")
}

/// Opens a listener. Its queue is long, because clients open a thousand connections at once. Fails with the system's
/// error.
pub fn listener(addr: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&addr.into())?;
    socket.listen(4096)?;
    Ok(socket.into())
}

/// hyper's HTTP/1 with a timeout for heads.
pub fn http() -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    http
}

/// The handler of the servers that use hyper without a router. Never fails; hyper requires a `Result`.
pub async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(Bytes::from_static(BODY.as_bytes())));
    if request.uri().path() != PATH {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
    Ok(response)
}
