//! One request: checked, paired, answered.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_RANGE, HeaderValue};
use http::{HeaderMap, Method, Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::body::{Body, Cut};
use crate::lines::Lines;
use crate::metrics::{End, Metrics};
use crate::pairing::{Id, Pair, Pairing, ReceiverCame, SenderCame};
use crate::peer::Peer;
use crate::transfer::{Receiver, Sender, transfer};
use crate::{reply, target};

/// A sender that waits: its own task sends, as soon as it gets the receivers.
struct WaitingSender {
    start: oneshot::Sender<Vec<Receiver>>,
    lines: Lines,
}

/// All that connections share.
pub(crate) struct Relay {
    pairing: Mutex<Pairing<WaitingSender, Receiver>>,
    metrics: Metrics,
    wait_timeout: Duration,
}

impl Relay {
    pub(crate) fn new(max_waiting_keys: usize, wait_timeout: Duration) -> Arc<Self> {
        let pairing = Mutex::new(Pairing::new(max_waiting_keys));
        Arc::new(Relay { pairing, metrics: Metrics::new(), wait_timeout })
    }

    /// The OpenMetrics text.
    pub(crate) fn metrics(&self) -> Result<String, std::fmt::Error> {
        let (waiting, established) = {
            let pairing = self.pairing();
            (pairing.waiting(), pairing.established())
        };
        self.metrics.encode(waiting, established)
    }

    /// What `relay-home` is told about a key: 204 if somebody waits on it, or a pair has it; 503 if it is
    /// free, and may not begin to wait here any more; else 404.
    pub(crate) fn held(&self, key: &str) -> StatusCode {
        let pairing = self.pairing();
        match (pairing.holds(key), pairing.is_closing()) {
            (true, _) => StatusCode::NO_CONTENT,
            (false, true) => StatusCode::SERVICE_UNAVAILABLE,
            (false, false) => StatusCode::NOT_FOUND,
        }
    }

    /// From now on no free key may begin to wait.
    pub(crate) fn close(&self) {
        self.pairing().close();
    }

    /// Tells all who wait that nobody will come.
    pub(crate) fn end_waits(&self) {
        let (senders, receivers) = self.pairing().forget_waiting();
        for sender in senders {
            sender.lines.error("The relay is shutting down.");
        }
        for receiver in receivers {
            receiver.answer(reply::unavailable("The relay is shutting down."));
        }
    }

    /// Answers a request; `peer` is the socket of an HTTP/1 connection.
    ///
    /// # Errors
    /// If the client has left, which ends the connection.
    pub(crate) async fn handle(
        self: Arc<Self>,
        request: Request<Incoming>,
        peer: Option<Peer>,
    ) -> Result<Response<Body>, Cut> {
        let method = request.method().clone();
        let relay = Arc::clone(&self);
        let mut response = relay.route(request, peer).await?;
        self.metrics.answered(&method, response.status());
        response.headers_mut().insert("x-served-by", HeaderValue::from_static("relay-service"));
        Ok(response)
    }

    async fn route(
        self: Arc<Self>,
        request: Request<Incoming>,
        peer: Option<Peer>,
    ) -> Result<Response<Body>, Cut> {
        let Some(key) = target::key(request.uri().path()) else {
            return Ok(reply::error(StatusCode::NOT_FOUND, "Keys are below /p/."));
        };
        match *request.method() {
            Method::PUT | Method::POST => Ok(self.sender(key, request, peer).await),
            Method::GET => self.receiver(key, &request, peer).await,
            Method::OPTIONS => Ok(reply::options(request.headers())),
            _ => Ok(reply::method_not_allowed(request.method())),
        }
    }

    async fn sender(
        self: Arc<Self>,
        key: String,
        request: Request<Incoming>,
        peer: Option<Peer>,
    ) -> Response<Body> {
        let n = match sender_count(&request) {
            Ok(n) => n,
            Err(message) => return reply::bad_request(&message),
        };
        let is_http_1_0 = request.version() == Version::HTTP_10;
        let (lines, written) = Lines::new();
        let (start, started) = oneshot::channel();
        let waiting = WaitingSender { start, lines: lines.clone() };
        let came = self.pairing().sender_comes(&key, n, waiting);
        let came = match came {
            Ok(came) => came,
            Err(refusal) => return reply::refused(&refusal, &key),
        };
        lines.info(&format!("Waiting for {n} receiver(s)..."));
        let connected = match &came {
            SenderCame::Waits { connected, .. } => *connected,
            SenderCame::Completes(pair) => Some(pair.receivers.len()),
        };
        if let Some(connected) = connected {
            lines.info(&format!("{connected} receiver(s) has/have been connected."));
        }
        let (head, body) = request.into_parts();
        let sender = Sender { headers: head.headers, body, lines, peer };
        match came {
            SenderCame::Waits { id, .. } => {
                tokio::spawn(self.wait_and_send(key, id, sender, started));
            }
            SenderCame::Completes(pair) => {
                // Its lines, too: an answer ends when nobody can write one any more.
                drop(pair.sender);
                tokio::spawn(self.send(key, sender, pair.receivers));
            }
        }
        if is_http_1_0 {
            // It cannot read chunks, so it gets all lines at the end.
            return reply::text(Body::full(joined(written).await));
        }
        reply::text(Body::Lines(written))
    }

    async fn wait_and_send(
        self: Arc<Self>,
        key: String,
        id: Id,
        sender: Sender,
        started: oneshot::Receiver<Vec<Receiver>>,
    ) {
        let left = async {
            match &sender.peer {
                Some(peer) => tokio::select! {
                    () = peer.left() => {}
                    () = sender.lines.closed() => {}
                },
                None => sender.lines.closed().await,
            }
        };
        let outcome = tokio::select! {
            // A pair that is complete is served, even if its sender leaves in this moment.
            biased;
            started = started => Some(started.ok()),
            () = left => None,
            () = tokio::time::sleep(self.wait_timeout) => {
                sender.lines.error("No receiver came in time.");
                None
            }
        };
        match outcome {
            Some(Some(receivers)) => self.send(key, sender, receivers).await,
            // The relay is shutting down.
            Some(None) => {}
            None => {
                // Not waiting: a receiver has completed the pair just now, and lost its sender.
                if !self.pairing().leave(&key, id) {
                    self.finish(&key, End::SenderLeft);
                }
            }
        }
    }

    async fn send(self: Arc<Self>, key: String, sender: Sender, receivers: Vec<Receiver>) {
        let end = transfer(sender, receivers, &self.metrics).await;
        self.finish(&key, end);
    }

    async fn receiver(
        self: Arc<Self>,
        key: String,
        request: &Request<Incoming>,
        peer: Option<Peer>,
    ) -> Result<Response<Body>, Cut> {
        let n = match receiver_count(request) {
            Ok(n) => n,
            Err(message) => return Ok(reply::bad_request(message)),
        };
        let (receiver, answer) = Receiver::new(peer.clone());
        let came = self.pairing().receiver_comes(&key, n, receiver, |sender| {
            sender.lines.info("A receiver was connected.");
        });
        let waits = match came {
            Err(refusal) => return Ok(reply::refused(&refusal, &key)),
            Ok(ReceiverCame::Waits(id)) => Some(Waits { relay: &self, key: &key, id }),
            Ok(ReceiverCame::Completes(Pair { sender, receivers })) => {
                // If the sender has left in this moment, its task frees the key.
                let _ = sender.start.send(receivers);
                None
            }
        };
        let left = async {
            match &peer {
                Some(peer) => peer.left().await,
                None => std::future::pending().await,
            }
        };
        let answered = tokio::select! {
            answered = timeout(self.wait_timeout, answer) => answered,
            () = left => return Err(Cut),
        };
        drop(waits);
        match answered {
            Ok(answered) => answered.map_err(|_| Cut),
            Err(_) => Ok(reply::unavailable("No sender came in time.")),
        }
    }

    fn finish(&self, key: &str, end: End) {
        self.pairing().finish(key);
        self.metrics.pair_ended(end);
    }

    /// A panic elsewhere does not make the map wrong: each call leaves it whole.
    fn pairing(&self) -> MutexGuard<'_, Pairing<WaitingSender, Receiver>> {
        self.pairing.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.relay.pairing().leave(self.key, self.id);
    }
}

/// The number of receivers that a sender asks for, or why it is refused.
fn sender_count(request: &Request<Incoming>) -> Result<u8, String> {
    if request.headers().contains_key(CONTENT_RANGE) {
        return Err(format!("Content-Range is not supported for now in {}", request.method()));
    }
    match target::count(request.uri().query().unwrap_or_default()) {
        None => Err("Invalid \"n\" query parameter".to_owned()),
        Some(0) => Err("n should > 0, but n = 0.".to_owned()),
        Some(n) => Ok(n),
    }
}

/// The number of receivers that a receiver counts on, or why it is refused.
fn receiver_count(request: &Request<Incoming>) -> Result<u8, &'static str> {
    if is_service_worker(request.headers()) {
        return Err("Service Worker registration is rejected.");
    }
    match target::count(request.uri().query().unwrap_or_default()) {
        None => Err("Invalid query parameter \"n\""),
        Some(0) => Err("n should > 0, but n = 0."),
        Some(n) => Ok(n),
    }
}

fn is_service_worker(headers: &HeaderMap) -> bool {
    headers.get("service-worker").is_some_and(|value| value == "script")
}

async fn joined(mut lines: mpsc::Receiver<Bytes>) -> Bytes {
    let mut all = Vec::new();
    while let Some(line) = lines.recv().await {
        all.extend_from_slice(&line);
    }
    all.into()
}
