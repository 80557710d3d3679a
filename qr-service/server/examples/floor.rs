//! The server part of the services here with an answer that is always the same: what a request costs besides its
//! picture, for the ladder's floors. Arguments: the address, the number of threads, and `documented` (a route, which hyper
//! and axum answer) or `tuned` (a [`Shortcut`], before hyper).

use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use axum::Router;
use axum::routing::get;
use http::header::CONTENT_TYPE;
use service_kit::metrics::Connections;
use service_kit::{
    Admin, Binding, Listeners, Plain, ServeMode, Serving, Shortcut, Threads, Timeouts, end_answer,
    shutdown_signal, telemetry,
};

const PATH: &str = "/qrcode";
static BODY: [u8; 420] = [b'Z'; 420];
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: 420\r\n";

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |what| arguments.next().with_context(|| format!("{what} is missing"));
    let addr: SocketAddr = next("the address")?.parse()?;
    let count: NonZeroU16 = next("the number of threads")?.parse()?;
    let shortcut = match next("documented or tuned")?.as_str() {
        "documented" => None,
        "tuned" => Some(Shortcut(&answer)),
        other => bail!("{other:?} is neither documented nor tuned"),
    };
    let threads = Threads { count, mode: ServeMode::Shared };
    threads.runtime()?.block_on(serve(addr, threads, shortcut))
}

async fn serve(
    addr: SocketAddr,
    threads: Threads,
    shortcut: Option<Shortcut>,
) -> anyhow::Result<()> {
    let admin: SocketAddr = "127.0.0.1:0".parse()?;
    let public = Binding { addresses: &[addr.into()], variable: "none", takes_over: false };
    let listeners = Listeners::bind_for(threads, public, (admin, "none")).await?;
    let _logging = telemetry::init("floor", tracing::Level::WARN)?;
    let head = Duration::from_secs(10);
    let serving = Serving {
        service: "floor",
        timeouts: Timeouts { idle: Duration::from_secs(60), header: head, write: head },
        max_connections: 10_000,
        connections: Connections::default(),
        shortcut,
        shutdown_delay: Duration::ZERO,
        drain_timeout: head,
    };
    let routes =
        Router::new().route(PATH, get(async || ([(CONTENT_TYPE, "image/png")], BODY.as_slice())));
    let admin = Admin::new(|| Ok("# EOF\n".to_owned()));
    service_kit::serve(listeners, &serving, routes, admin, shutdown_signal()?, async {}).await
}

fn answer(request: &Plain<'_>, began: Instant, answer: &mut Vec<u8>) -> Option<Instant> {
    if request.target() != PATH {
        return None;
    }
    answer.extend_from_slice(HEAD);
    end_answer(answer, &BODY, began);
    Some(began)
}
