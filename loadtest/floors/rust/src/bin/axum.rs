//! axum, a router with one route.
//!
//! Documented: `axum::serve`, which has no timeouts; with them, its example `serve-with-hyper`. Tuned: the same on
//! one single-threaded runtime per core, each with its own listener, and HTTP/1 only.

use axum::Router;
use axum::http::header;
use axum::routing::get;
use floors_rust::{
    Arguments, BODY, CONTENT_TYPE, HEAD_TIMEOUT, PATH, arguments, listener, on_each_core,
};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
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
    let app =
        Router::new().route(PATH, get(async || ([(header::CONTENT_TYPE, CONTENT_TYPE)], BODY)));
    if !arguments.tuned && !arguments.timeouts {
        return Ok(axum::serve(listener, app).await?);
    }
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
        tokio::spawn(
            http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(app.clone())),
        );
    }
}
