//! hyper, without a router.
//!
//! Documented: the guide's first server, a task per connection on tokio's threads. Tuned: one single-threaded
//! runtime per core, each with its own listener.

use floors_rust::{Arguments, HEAD_TIMEOUT, answer, arguments, listener, on_each_core};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

fn main() -> anyhow::Result<()> {
    let arguments = arguments()?;
    if arguments.tuned {
        return on_each_core(arguments, |arguments, listener| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(serve(arguments, listener))
        });
    }
    tokio::runtime::Runtime::new()?.block_on(serve(arguments, listener(arguments.addr)?))
}

async fn serve(arguments: Arguments, listener: std::net::TcpListener) -> anyhow::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let mut http = http1::Builder::new();
    if arguments.timeouts {
        http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    }
    if arguments.tuned {
        http.pipeline_flush(true);
    }
    loop {
        let (stream, _) = listener.accept().await?;
        if arguments.tuned {
            stream.set_nodelay(true)?;
        }
        // A client that goes away is no fault of the server.
        tokio::spawn(http.serve_connection(TokioIo::new(stream), service_fn(answer)));
    }
}
