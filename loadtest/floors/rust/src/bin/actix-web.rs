//! actix-web, and below it actix-http.
//!
//! Documented: `HttpServer` with an `App` of one route. Tuned: actix-http's service for HTTP/1 without a router, as
//! its entry at TechEmpower. Both run one thread per core by themselves.

use std::convert::Infallible;
use std::time::Duration;

use actix_http::header::{self, HeaderValue};
use actix_http::{HttpService, KeepAlive, Request, Response, StatusCode};
use actix_service::fn_service;
use actix_web::{App, HttpResponse, HttpServer, web};
use floors_rust::{
    Arguments, BACKLOG, BODY, CONTENT_TYPE, HEAD_TIMEOUT, IDLE_TIMEOUT, PATH, arguments,
};

#[actix_web::main]
async fn main() -> anyhow::Result<()> {
    let arguments = arguments()?;
    if arguments.tuned { tuned(arguments).await } else { documented(arguments).await }
}

/// For the head of a request, and between two requests. Zero turns the first off.
fn timeouts(arguments: Arguments) -> (Duration, KeepAlive) {
    if arguments.timeouts {
        (HEAD_TIMEOUT, KeepAlive::Timeout(IDLE_TIMEOUT))
    } else {
        (Duration::ZERO, KeepAlive::Os)
    }
}

async fn documented(arguments: Arguments) -> anyhow::Result<()> {
    let (head, idle) = timeouts(arguments);
    let app = || {
        let answer = async || HttpResponse::Ok().content_type(CONTENT_TYPE).body(BODY);
        App::new().route(PATH, web::get().to(answer))
    };
    let server = HttpServer::new(app).client_request_timeout(head).keep_alive(idle);
    // The default waits half a minute for connections.
    Ok(server.disable_signals().bind(arguments.addr)?.run().await?)
}

async fn tuned(arguments: Arguments) -> anyhow::Result<()> {
    let service = move || {
        let (head, idle) = timeouts(arguments);
        let http = HttpService::build().client_request_timeout(head).keep_alive(idle);
        http.h1(fn_service(answer)).tcp()
    };
    let server = actix_server::Server::build().disable_signals().workers(arguments.cores);
    Ok(server.backlog(BACKLOG.unsigned_abs()).bind("floor", arguments.addr, service)?.run().await?)
}

async fn answer(request: Request) -> Result<Response<&'static str>, Infallible> {
    if request.path() != PATH {
        return Ok(Response::with_body(StatusCode::NOT_FOUND, ""));
    }
    let mut response = Response::with_body(StatusCode::OK, BODY);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
    Ok(response)
}
