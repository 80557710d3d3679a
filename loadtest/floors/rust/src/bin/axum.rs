//! axum, a router with one route, with timeouts as in its example `serve-with-hyper`.

use axum::Router;
use axum::http::header;
use axum::routing::get;
use floors_rust::{BODY, CONTENT_TYPE, PATH, address, http, listener};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let listener = TcpListener::from_std(listener(address()?)?)?;
    let app =
        Router::new().route(PATH, get(async || ([(header::CONTENT_TYPE, CONTENT_TYPE)], BODY)));
    loop {
        let (stream, _) = listener.accept().await?;
        let service = TowerToHyperService::new(app.clone());
        tokio::spawn(http().serve_connection(TokioIo::new(stream), service));
    }
}
