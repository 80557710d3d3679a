//! What the servers have in common: their arguments, the answer, and listeners that share a port.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::{Request, Response, StatusCode};
use socket2::{Domain, Socket, Type};

#[cfg(feature = "tuned")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The body that every server answers with.
pub static BODY: &str = match std::str::from_utf8(&[b'Z'; 420]) {
    Ok(body) => body,
    Err(_) => unreachable!(),
};
/// Its type.
pub const CONTENT_TYPE: &str = "image/png";
/// The only path.
pub const PATH: &str = "/qrcode";

/// How long a client may take for the head of a request, with timeouts.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection may wait for its next request, with timeouts.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Connections that may wait to be accepted. wrk opens a thousand at once.
pub const BACKLOG: i32 = 4096;

/// The arguments of all servers.
#[derive(Clone, Copy, Debug)]
pub struct Arguments {
    /// The address to listen on.
    pub addr: SocketAddr,
    /// The number of cores it has.
    pub cores: usize,
    /// Tuned, or as the documentation says.
    pub tuned: bool,
    /// Whether it ends connections that are too slow.
    pub timeouts: bool,
}

/// Reads `ADDRESS CORES documented|tuned timeouts|forever`.
///
/// # Errors
/// The argument that is missing or wrong, also if this build is the other one.
pub fn arguments() -> anyhow::Result<Arguments> {
    let all: Vec<String> = std::env::args().skip(1).collect();
    let [addr, cores, column, timeouts] = all.as_slice() else {
        bail!("usage: ADDRESS CORES documented|tuned timeouts|forever");
    };
    let built = if cfg!(feature = "tuned") { "tuned" } else { "documented" };
    if column != built {
        bail!("{column}: this is the build {built}");
    }
    Ok(Arguments {
        addr: addr.parse().with_context(|| addr.clone())?,
        cores: cores.parse().with_context(|| cores.clone())?,
        tuned: cfg!(feature = "tuned"),
        timeouts: match timeouts.as_str() {
            "timeouts" => true,
            "forever" => false,
            other => bail!("{other}: must be timeouts or forever"),
        },
    })
}

/// Opens a listener that shares its port with others, so that each thread has its own.
///
/// # Errors
/// Those of the system.
pub fn listener(addr: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, None)?;
    socket.set_reuse_port(true)?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&addr.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Runs `serve` once per core, each in its own thread with its own listener. All listeners are open before any
/// thread serves.
///
/// # Errors
/// Those of the first thread that ends.
pub fn on_each_core(
    arguments: Arguments,
    serve: fn(Arguments, TcpListener) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let listeners: Result<Vec<_>, _> =
        (0..arguments.cores).map(|_| listener(arguments.addr)).collect();
    let threads =
        listeners?.into_iter().map(|listener| thread::spawn(move || serve(arguments, listener)));
    for thread in threads.collect::<Vec<_>>() {
        thread.join().map_err(|_| anyhow::anyhow!("a thread panicked"))??;
    }
    Ok(())
}

/// The answer of the servers that are hyper without a router.
///
/// # Errors
/// None; hyper wants a `Result`.
pub async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.uri().path() != PATH {
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::NOT_FOUND;
        return Ok(response);
    }
    let mut response = Response::new(Full::new(Bytes::from_static(BODY.as_bytes())));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
    Ok(response)
}
