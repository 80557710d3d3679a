//! hyper without a router: a task per connection on tokio's threads, like the first server of hyper's guide.

use floors_rust::{address, answer, listener, serve};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Err(error) = serve(listener(address()?)?, answer).await;
    Err(error.into())
}
