//! ntex.
//!
//! Documented: `HttpServer` with an `App` of one route, on tokio. Tuned: its service for HTTP/1 without a router, on
//! its own runtime, which uses io_uring if the kernel allows it. Both run one thread per core by themselves.

use std::io;

use floors_rust::{
    Arguments, BACKLOG, BODY, CONTENT_TYPE, HEAD_TIMEOUT, IDLE_TIMEOUT, PATH, arguments,
};
use ntex::SharedCfg;
use ntex::http::header::{self, HeaderValue};
use ntex::http::{HttpService, HttpServiceConfig, KeepAlive, Request, Response, StatusCode};
use ntex::time::Seconds;
use ntex::web::{self, App, HttpResponse, HttpServer};

#[ntex::main]
async fn main() -> anyhow::Result<()> {
    let arguments = arguments()?;
    if arguments.tuned { tuned(arguments).await } else { documented(arguments).await }
}

fn config(arguments: Arguments) -> SharedCfg {
    let (head, idle) = if arguments.timeouts {
        (
            Seconds(HEAD_TIMEOUT.as_secs() as u16),
            KeepAlive::Timeout(Seconds(IDLE_TIMEOUT.as_secs() as u16)),
        )
    } else {
        (Seconds::ZERO, KeepAlive::Os)
    };
    SharedCfg::new("floor")
        .add(HttpServiceConfig::new().set_client_timeout(head).set_keepalive(idle))
        .into()
}

async fn documented(arguments: Arguments) -> anyhow::Result<()> {
    let app = async || {
        let answer = async || HttpResponse::Ok().content_type(CONTENT_TYPE).body(BODY);
        App::new().route(PATH, web::get().to(answer))
    };
    let server = HttpServer::new(app).config(config(arguments));
    Ok(server.disable_signals().bind(arguments.addr)?.run().await?)
}

async fn tuned(arguments: Arguments) -> anyhow::Result<()> {
    let server = ntex::server::build().disable_signals().workers(arguments.cores).backlog(BACKLOG);
    let server = server.bind("floor", arguments.addr, async |_| HttpService::h1(answer))?;
    Ok(server.config("floor", config(arguments)).run().await?)
}

async fn answer(request: Request) -> io::Result<Response> {
    if request.path() != PATH {
        return Ok(Response::new(StatusCode::NOT_FOUND));
    }
    let mut response = Response::Ok().body(BODY);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
    Ok(response)
}
