//! A plain axum server that answers `/qrcode` with constant 420 bytes: the upper bound that
//! benchmarks compare the service with. Its argument is the address to listen on.

use anstream::println;
use axum::Router;
use axum::routing::get;
use http::header::CONTENT_TYPE;

static BODY: [u8; 420] = [0x5a; 420];

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let addr = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let listener = tokio::net::TcpListener::bind(&addr).await?;
    println!("listening on {}", listener.local_addr()?);
    let app = Router::new()
        .route("/qrcode", get(async || ([(CONTENT_TYPE, "image/png")], BODY.as_slice())));
    axum::serve(listener, app).await?;
    Ok(())
}
