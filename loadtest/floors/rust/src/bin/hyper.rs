//! hyper without a router: a task per connection on tokio's threads, like the first server of hyper's guide.

use floors_rust::{address, answer, http, listener};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let listener = TcpListener::from_std(listener(address()?)?)?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(http().serve_connection(TokioIo::new(stream), service_fn(answer)));
    }
}
