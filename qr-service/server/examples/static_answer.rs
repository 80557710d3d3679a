//! A server on `service-kit` that always gives the same answer. It shows the cost of a request without drawing a
//! picture, which the floors of the ladder in loadtest/ need. Arguments: the address, and the number of threads.

use std::net::SocketAddr;

use anyhow::Context;
use axum::Router;
use axum::routing::get;
use http::header::CONTENT_TYPE;
use service_kit::{Admin, Listener, Serving, shutdown_signal, telemetry};

static BODY: [u8; 420] = [b'Z'; 420];

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |what| arguments.next().with_context(|| format!("{what} is missing"));
    let addr: SocketAddr = next("the address")?.parse()?;
    let threads = next("the number of threads")?.parse()?;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(threads).enable_all().build()?.block_on(serve(addr))
}

async fn serve(addr: SocketAddr) -> anyhow::Result<()> {
    let admin: SocketAddr = "127.0.0.1:0".parse()?;
    let listeners = (vec![Listener::bind(addr, "none")?], Listener::bind(admin, "none")?);
    let _logging = telemetry::init("floor", tracing::Level::WARN)?;
    let serving = Serving::near(10_000);
    let routes = Router::new()
        .route("/qrcode", get(async || ([(CONTENT_TYPE, "image/png")], BODY.as_slice())));
    let admin = Admin::new(|| Ok("# EOF\n".to_owned()));
    service_kit::serve(listeners, &serving, routes, admin, shutdown_signal()?, async {}).await;
    Ok(())
}
