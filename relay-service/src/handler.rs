//! The state that all connections share, and how it pairs requests.

mod sender;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::Request;
use http::header::EXPECT;
use http::request::Parts;
use http::{Response, StatusCode, Version};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::sleep;

use crate::body::{Body, Sending};
use crate::messages::Messages;
use crate::metrics::{Metrics, Unpaired};
use crate::pairing::{Came, Id, Left, Pair, Pairing};
use crate::request::{Answer, KeyRequest, check};
use crate::source::{Source, came};
use crate::transfer::Receiver;
use crate::{reply, target};
use sender::Sender;
use service_kit::ClientEnd;

/// Limit on the keys and request heads of all who wait, in bytes. A waiting connection keeps its request's head in
/// memory.
const MAX_WAITING_BYTES: usize = 128 << 20;
/// Bytes that each waiting request takes besides.
const WAITING_BYTES: usize = 1024;

/// A sender that waits: its answer begins to send once it gets the receivers.
pub(crate) struct WaitingSender {
    pub(crate) start: oneshot::Sender<Vec<WaitingReceiver>>,
    pub(crate) messages: Messages,
    pub(crate) at: Instant,
}

/// A receiver that waits.
pub(crate) struct WaitingReceiver {
    pub(crate) answer: Receiver,
    pub(crate) at: Instant,
}

/// The state that all connections share.
pub(crate) struct Relay {
    pairing: Mutex<Pairing<WaitingSender, WaitingReceiver>>,
    pub(crate) metrics: Metrics,
    waiting_bytes: Arc<Semaphore>,
    pub(crate) wait_timeout: Duration,
    is_leaving: AtomicBool,
    is_over: AtomicBool,
}

impl Relay {
    pub(crate) fn new(max_waiting_keys: usize, wait_timeout: Duration) -> Arc<Self> {
        Arc::new(Relay {
            pairing: Mutex::new(Pairing::new(max_waiting_keys)),
            metrics: Metrics::new(),
            waiting_bytes: Arc::new(Semaphore::new(MAX_WAITING_BYTES)),
            wait_timeout,
            is_leaving: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        })
    }

    /// The OpenMetrics text.
    pub(crate) fn metrics(&self) -> Result<String, std::fmt::Error> {
        let sizes = {
            let pairing = self.pairing();
            (pairing.waiting(), pairing.established())
        };
        self.metrics.encode(sizes, self.is_leaving.load(Ordering::Relaxed))
    }

    /// Answers `relay-home`: 204 if somebody waits on the key or a pair has it; 503 if it is free but should begin to
    /// wait elsewhere, because the service is leaving; otherwise 404.
    pub(crate) fn held(&self, key: &str) -> StatusCode {
        let pairing = self.pairing();
        match (pairing.holds(key), self.is_leaving.load(Ordering::Relaxed)) {
            (true, _) => StatusCode::NO_CONTENT,
            (false, true) => StatusCode::SERVICE_UNAVAILABLE,
            (false, false) => StatusCode::NOT_FOUND,
        }
    }

    /// Digests of the keys on which somebody waits, one per line.
    pub(crate) fn waiting(&self) -> String {
        let keys: Vec<String> = self.pairing().waiting_keys().map(str::to_owned).collect();
        keys.iter().map(|key| target::digest(key) + "\n").collect()
    }

    /// Makes [`Relay::held`] send free keys elsewhere.
    pub(crate) fn leave_service(&self) {
        self.is_leaving.store(true, Ordering::Relaxed);
    }

    /// Refuses to let any further free key wait.
    pub(crate) fn close(&self) {
        self.pairing().close();
    }

    /// Marks the service as ended: streams that end from now on count as cut by it.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Whether the service has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Resolves once nobody waits.
    pub(crate) async fn nobody_waits(&self) {
        while self.pairing().waiting() > 0 {
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Tells all who wait that nobody will come.
    pub(crate) fn end_waits(&self) {
        let (senders, receivers) = self.pairing().forget_waiting();
        for sender in senders {
            sender.messages.error("The relay is shutting down.");
            self.metrics.unpaired(Unpaired::Closed);
        }
        for receiver in receivers {
            // The receiver may have left.
            let _ = receiver.answer.send(reply::unavailable("The relay is shutting down."));
            self.metrics.unpaired(Unpaired::Closed);
        }
    }

    /// Answers a request.
    pub(crate) async fn answer(self: Arc<Self>, request: Request) -> Response<Body> {
        let (request, body) = request.into_parts();
        let method = request.method.clone();
        let answered = match check(&request) {
            Ok(asked) if asked.sends => self.send(asked, request, body).await,
            Ok(asked) => self.receive(asked, request, body).await,
            Err(answer) => Err(answer),
        };
        let mut response = answered.unwrap_or_else(|answer| *answer);
        self.metrics.answered(&method, response.status());
        reply::stamp(response.headers_mut());
        response
    }

    /// Answers a receiver, once a sender and all other receivers have come.
    async fn receive(
        self: &Arc<Self>,
        asked: KeyRequest,
        request: Parts,
        body: axum::body::Body,
    ) -> Result<Response<Body>, Answer> {
        let _permit = self.may_wait(&asked, &request)?;
        let closed = client_end(&request).map(ClientEnd::hold);
        // They are no longer needed, and would keep the connection's buffer alive.
        drop((request, body));
        let (answer, mut answered) = oneshot::channel();
        let waiting = WaitingReceiver { answer, at: asked.at };
        let entered = self.pairing().receiver_comes(&asked.key, asked.n, waiting, |sender| {
            sender.messages.info("A receiver was connected.");
        });
        let mut waits = ReceiverWait { relay: self, key: &asked.key, id: None };
        match entered.map_err(|refusal| reply::refused(&refusal, &asked.key))? {
            Came::Waits(id) => waits.id = Some(id),
            Came::Completes(Pair { sender, receivers }) => {
                // If the sender leaves at this moment, it drops the receivers and frees the key.
                let _ = sender.start.send(receivers);
            }
        }
        let is_over = tokio::select! {
            biased;
            // An error: the sender was cut before the answers began.
            answered = &mut answered => return Ok(answered.unwrap_or_else(|_| reply::cut())),
            () = came(closed.as_ref()) => false,
            () = sleep(self.wait_timeout) => true,
        };
        // If it no longer waits, the pair is complete and its answer is about to come.
        if is_over && !waits.leave() {
            return Ok(answered.await.unwrap_or_else(|_| reply::cut()));
        }
        Ok(if is_over { reply::unavailable("No sender came in time.") } else { reply::cut() })
    }

    /// Answers a sender with its messages. The body of this answer also does the sending.
    async fn send(
        self: &Arc<Self>,
        asked: KeyRequest,
        request: Parts,
        body: axum::body::Body,
    ) -> Result<Response<Body>, Answer> {
        let permit = self.may_wait(&asked, &request)?;
        let closed = client_end(&request).map(ClientEnd::hold);
        let source = Source::new(body, request.version, closed.clone());
        let headers = reply::described(&request.headers);
        let (mut sender, written) = Sender::come(self, asked, headers, source)?;
        let expects = request.headers.get(EXPECT);
        if expects.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue")) {
            sender.ask_for_body().await;
        }
        drop(request);
        let run = async move {
            let waited = sender.wait().await;
            drop(permit);
            waited?.send().await
        };
        Ok(reply::text(Body::Sender(Sending::new(run, written, closed))))
    }

    /// Reserves a request's share of [`MAX_WAITING_BYTES`]. Fails with 503 if too little is left.
    fn may_wait(
        &self,
        asked: &KeyRequest,
        request: &Parts,
    ) -> Result<OwnedSemaphorePermit, Answer> {
        let headers: usize =
            request.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        let bytes = WAITING_BYTES + 2 * asked.key.len() + headers;
        let permit = u32::try_from(bytes)
            .ok()
            .and_then(|bytes| Arc::clone(&self.waiting_bytes).try_acquire_many_owned(bytes).ok());
        permit.ok_or_else(|| reply::unavailable("Too many bytes are waiting.").into())
    }

    /// Removes somebody who leaves. Returns whether they waited.
    pub(crate) fn leave(&self, key: &str, id: Id) -> bool {
        let at = match self.pairing().leave(key, id) {
            Some(Left::Sender(sender)) => sender.at,
            Some(Left::Receiver(receiver)) => receiver.at,
            None => return false,
        };
        let is_over = at.elapsed() >= self.wait_timeout;
        self.metrics.unpaired(if is_over { Unpaired::Expired } else { Unpaired::Left });
        true
    }

    /// Ignores poisoning: each call leaves the map consistent, even if a holder panics.
    pub(crate) fn pairing(&self) -> MutexGuard<'_, Pairing<WaitingSender, WaitingReceiver>> {
        self.pairing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A receiver that may wait; dropping this, as with its request, removes it.
struct ReceiverWait<'a> {
    relay: &'a Relay,
    key: &'a str,
    id: Option<Id>,
}

impl ReceiverWait<'_> {
    /// Returns whether it waited.
    fn leave(&mut self) -> bool {
        self.id.take().is_some_and(|id| self.relay.leave(self.key, id))
    }
}

impl Drop for ReceiverWait<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The request's [`ClientEnd`], over HTTP/1 only.
fn client_end(request: &Parts) -> Option<&ClientEnd> {
    request.extensions.get().filter(|_| request.version < Version::HTTP_2)
}
