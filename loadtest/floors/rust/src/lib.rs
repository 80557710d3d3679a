//! The parts that the servers share: the address, the answer, the timeouts, and how hyper serves connections.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;
use std::{process, thread};

use anyhow::Context;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::{Domain, Socket, Type};
use tokio::runtime;

/// The body that every server answers with.
pub static BODY: &str = match std::str::from_utf8(&[b'Z'; 420]) {
    Ok(body) => body,
    Err(_) => unreachable!(),
};
/// Its type.
pub const CONTENT_TYPE: &str = "image/png";
/// The only path.
pub const PATH: &str = "/qrcode";

/// What a handler returns. It never fails; hyper requires a `Result`.
pub type Answer = Result<Response<Full<Bytes>>, Infallible>;

/// How long a client may take for the head of a request.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection may wait for its next request.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Reads the first argument. Fails if it is missing or wrong.
pub fn address() -> anyhow::Result<SocketAddr> {
    std::env::args().nth(1).context("usage: ADDRESS")?.parse().context("ADDRESS")
}

/// Opens a listener, which may share its port with others. Its queue is long, because clients open a thousand
/// connections at once. Fails with the system's error.
pub fn listener(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
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

/// Serves each connection in a task of the current runtime. Only returns if a connection cannot be accepted.
pub async fn serve<F>(
    listener: TcpListener,
    handler: impl Fn(Request<Incoming>) -> F + Copy + Send + 'static,
) -> io::Result<Infallible>
where
    F: Future<Output = Answer> + Send + 'static,
{
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(http().serve_connection(TokioIo::new(stream), service_fn(handler)));
    }
}

/// Serves in a thread per core, each with its own runtime and listener. Only returns if it cannot start; the process
/// ends if a thread fails.
pub fn serve_on_each_core<F>(
    handler: impl Fn(Request<Incoming>) -> F + Copy + Send + 'static,
) -> anyhow::Result<()>
where
    F: Future<Output = Answer> + Send + 'static,
{
    let (addr, cores) = (address()?, thread::available_parallelism()?.get());
    // The kernel spreads connections over the listeners that are open, so all open before the first one serves.
    let listeners: io::Result<Vec<_>> = (0..cores).map(|_| listener(addr)).collect();
    let serve_one = move |listener| {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(serve(listener, handler))
    };
    thread::scope(|scope| {
        for listener in listeners? {
            scope.spawn(move || {
                let Err(error) = serve_one(listener);
                eprintln!("{error}");
                process::exit(1)
            });
        }
        Ok(())
    })
}

/// The handler of the servers that use hyper without a router.
pub async fn answer(request: Request<Incoming>) -> Answer {
    let mut response = Response::new(Full::new(Bytes::from_static(BODY.as_bytes())));
    if request.uri().path() != PATH {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
    Ok(response)
}
