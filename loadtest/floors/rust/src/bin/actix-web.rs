//! actix-web: `HttpServer` with an `App` of one route. It starts a thread per core itself.

use actix_web::http::KeepAlive;
use actix_web::{App, HttpResponse, HttpServer, web};
use floors_rust::{BODY, CONTENT_TYPE, HEAD_TIMEOUT, IDLE_TIMEOUT, PATH, address};

#[actix_web::main]
async fn main() -> anyhow::Result<()> {
    let app = || {
        let answer = async || HttpResponse::Ok().content_type(CONTENT_TYPE).body(BODY);
        App::new().route(PATH, web::get().to(answer))
    };
    let server = HttpServer::new(app).client_request_timeout(HEAD_TIMEOUT);
    let server = server.keep_alive(KeepAlive::Timeout(IDLE_TIMEOUT));
    // Its own signal handling would wait half a minute for connections.
    Ok(server.disable_signals().bind(address()?)?.run().await?)
}
