//! hyper, without a router: the guide's first server, a task per connection on tokio's threads.

use floors_rust::{answer, arguments, http, listener};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let (addr, _, _) = arguments()?;
    let listener = TcpListener::from_std(listener(addr)?)?;
    loop {
        let (stream, _) = listener.accept().await?;
        // A client that goes away is no fault of the server.
        tokio::spawn(http().serve_connection(TokioIo::new(stream), service_fn(answer)));
    }
}
