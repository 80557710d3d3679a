//! HTTP/2, as nginx speaks it: hyper serves the connection.

use std::sync::Arc;

use bytes::BytesMut;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::body::{Body, Cut};
use crate::handler::{Asked, Relay};
use crate::lines::LinesBody;
use crate::pairing::Id;
use crate::peer::Peer;
use crate::replay::Replay;
use crate::reply;
use crate::transfer::{Receiver, Source};

/// Bytes that a client may send ahead, for each stream and for the connection.
pub(crate) const WINDOW: u32 = 256 * 1024;
const MAX_STREAMS: u32 = 250;
const MAX_HEAD: u32 = 64 * 1024;

/// Serves a connection; `ahead` has been read from it.
///
/// # Errors
/// hyper's, if the connection does not end in order.
pub(crate) async fn serve(
    peer: Peer,
    ahead: BytesMut,
    relay: Arc<Relay>,
    open: Watcher,
) -> hyper::Result<()> {
    let service = service_fn(move |request| {
        let relay = Arc::clone(&relay);
        async move { answer(&relay, request).await }
    });
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEAD)
        .max_send_buf_size(WINDOW as usize)
        .serve_connection(TokioIo::new(Replay::new(peer, ahead, true)), service);
    open.watch(connection).await
}

async fn answer(relay: &Arc<Relay>, request: Request<Incoming>) -> Result<Response<Body>, Cut> {
    let (request, body) = request.into_parts();
    let method = request.method.clone();
    let mut response = match Relay::check(&request) {
        Err(response) => *response,
        Ok(asked) if asked.sends => {
            let source = Source::Http2(body);
            match relay.sender_comes(asked, request.headers, source, None) {
                Err(refused) => refused.0,
                Ok((sender, written)) => {
                    let relay = Arc::clone(relay);
                    tokio::spawn(async move { relay.send(sender).await });
                    reply::text(Body::Lines(LinesBody::new(written)))
                }
            }
        }
        Ok(asked) => receive(relay, &asked).await?,
    };
    let status = response.status();
    relay.stamp(&method, status, response.headers_mut());
    Ok(response)
}

async fn receive(relay: &Relay, asked: &Asked) -> Result<Response<Body>, Cut> {
    let (answer, answered) = oneshot::channel();
    let waits = match relay.receiver_comes(asked, Receiver::Http2(answer)) {
        Err(response) => return Ok(*response),
        Ok(id) => id.map(|id| Waits { relay, key: &asked.key, id }),
    };
    let answered = timeout(relay.wait_timeout(), answered).await;
    drop(waits);
    match answered {
        Ok(answered) => answered.map_err(|_| Cut),
        Err(_) => Ok(reply::unavailable("No sender came in time.")),
    }
}

/// A receiver that waits; it is forgotten when its request is dropped.
struct Waits<'a> {
    relay: &'a Relay,
    key: &'a str,
    id: Id,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.relay.leave(self.key, self.id);
    }
}
