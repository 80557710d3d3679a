//! What all connections share: requests are checked and paired here.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_RANGE;
use http::request::Parts;
use http::{HeaderMap, Method, Response, StatusCode};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::body::Body;
use crate::http1::pipe::Pipes;
use crate::lines::Lines;
use crate::metrics::{End, Metrics, Unpaired};
use crate::pairing::{Id, Left, Pair, Pairing, ReceiverCame, SenderCame};
use crate::peer::Peer;
use crate::sessions::{Came, Session, Sessions, digest};
use crate::transfer::{Receiver, Source, transfer};
use crate::{reply, target};

/// How often a sender whose unread bytes may hide that it has left is asked.
const PROBE_INTERVAL: Duration = Duration::from_millis(500);
/// By how much the pauses grow if each probe takes a byte that there is only once.
const PAUSE_GROWTH: f64 = 1.28;
/// From so many unread bytes on, the client's system may be waiting for room. It tells that the client
/// has left only after them.
const MUCH_UNREAD: u64 = 16 * 1024;

/// A sender that waits: its own task sends, as soon as it gets the receivers.
struct WaitingSender {
    start: oneshot::Sender<Vec<WaitingReceiver>>,
    lines: Lines,
    came: Came,
}

/// A receiver that waits.
struct WaitingReceiver {
    receiver: Receiver,
    came: Came,
}

/// All that connections share.
pub(crate) struct Relay {
    pairing: Mutex<Pairing<WaitingSender, WaitingReceiver>>,
    metrics: Metrics,
    sessions: Sessions,
    pipes: Pipes,
    wait_timeout: Duration,
    is_leaving: AtomicBool,
}

/// An answer that is known as a whole.
pub(crate) type Answer = Box<Response<Body>>;
/// The answer to a sender that may not come, and its body.
pub(crate) type Refused = Box<(Response<Body>, Source)>;

/// A request that may wait.
pub(crate) struct Asked {
    pub(crate) key: String,
    pub(crate) n: u8,
    pub(crate) sends: bool,
    came: Came,
}

/// A sender that has come, with its request.
pub(crate) struct Sender {
    pub(crate) key: String,
    pub(crate) headers: HeaderMap,
    pub(crate) source: Source,
    pub(crate) lines: Lines,
    /// Its socket, if it speaks HTTP/1.
    pub(crate) peer: Option<Peer>,
    place: Place,
    came: Came,
}

enum Place {
    Waits(Id, oneshot::Receiver<Vec<WaitingReceiver>>),
    Complete(Vec<WaitingReceiver>),
}

/// How it went for a sender.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It has been told.
    Told,
    /// It has left, or its body is broken, while it sent.
    Broken,
}

impl Relay {
    pub(crate) fn new(
        max_waiting_keys: usize,
        wait_timeout: Duration,
        max_pipes: usize,
    ) -> Arc<Self> {
        let pairing = Mutex::new(Pairing::new(max_waiting_keys));
        let pipes = Pipes::new(max_pipes);
        let (metrics, sessions) = (Metrics::new(), Sessions::new());
        let is_leaving = AtomicBool::new(false);
        Arc::new(Relay { pairing, metrics, sessions, pipes, wait_timeout, is_leaving })
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
    /// free, and should begin to wait elsewhere; else 404.
    pub(crate) fn held(&self, key: &str) -> StatusCode {
        let pairing = self.pairing();
        match (pairing.holds(key), self.is_leaving.load(Ordering::Relaxed)) {
            (true, _) => StatusCode::NO_CONTENT,
            (false, true) => StatusCode::SERVICE_UNAVAILABLE,
            (false, false) => StatusCode::NOT_FOUND,
        }
    }

    /// Digests of the keys on which somebody waits, one a line.
    pub(crate) fn waiting(&self) -> String {
        let keys: Vec<String> = self.pairing().waiting_keys().map(str::to_owned).collect();
        keys.iter().map(|key| digest(key) + "\n").collect()
    }

    /// The last sessions that have ended, one a line.
    pub(crate) fn sessions(&self) -> String {
        self.sessions.lines()
    }

    /// From now on [`Relay::held`] sends free keys elsewhere.
    pub(crate) fn leave_service(&self) {
        self.is_leaving.store(true, Ordering::Relaxed);
    }

    /// From now on no free key may begin to wait.
    pub(crate) fn close(&self) {
        self.pairing().close();
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
            sender.lines.error("The relay is shutting down.");
            self.metrics.unpaired(Unpaired::Closed);
        }
        for WaitingReceiver { receiver, .. } in receivers {
            receiver.answer(reply::unavailable("The relay is shutting down."));
            self.metrics.unpaired(Unpaired::Closed);
        }
    }

    pub(crate) fn wait_timeout(&self) -> Duration {
        self.wait_timeout
    }

    /// Counts an answer, and adds what all answers have.
    pub(crate) fn stamp(&self, method: &Method, status: StatusCode, headers: &mut HeaderMap) {
        self.metrics.answered(method, status);
        reply::stamp(headers);
    }

    /// Checks a request, without its key's state; the error is its answer.
    pub(crate) fn check(request: &Parts) -> Result<Asked, Answer> {
        let Some(key) = target::key(request.uri.path()) else {
            return Err(reply::error(StatusCode::NOT_FOUND, "Keys are below /p/.").into());
        };
        let (n, sends) = match request.method {
            Method::PUT | Method::POST => (sender_count(request), true),
            Method::GET => (receiver_count(request).map_err(str::to_owned), false),
            Method::OPTIONS => return Err(reply::options(&request.headers).into()),
            _ => return Err(reply::method_not_allowed(&request.method).into()),
        };
        let n = n.map_err(|message| Box::new(reply::bad_request(&message)))?;
        Ok(Asked { key, n, sends, came: Came::now(request) })
    }

    /// A sender comes; the error is its answer. Also returns its lines.
    pub(crate) fn sender_comes(
        &self,
        Asked { key, n, came, .. }: Asked,
        headers: HeaderMap,
        source: Source,
        peer: Option<Peer>,
    ) -> Result<(Sender, mpsc::Receiver<Bytes>), Refused> {
        let (lines, written) = Lines::new();
        let (start, started) = oneshot::channel();
        let waiting = WaitingSender { start, lines: lines.clone(), came };
        let entered = self.pairing().sender_comes(&key, n, waiting);
        let entered = match entered {
            Ok(entered) => entered,
            Err(refusal) => return Err(Box::new((reply::refused(&refusal, &key), source))),
        };
        lines.info(&format!("Waiting for {n} receiver(s)..."));
        let (place, connected) = match entered {
            SenderCame::Waits { id, connected } => (Place::Waits(id, started), connected),
            // Its own lines have a clone that ends with `entered`: an answer ends when nobody can write one.
            SenderCame::Completes(Pair { receivers, .. }) => {
                let connected = receivers.len();
                (Place::Complete(receivers), Some(connected))
            }
        };
        if let Some(connected) = connected {
            lines.info(&format!("{connected} receiver(s) has/have been connected."));
        }
        Ok((Sender { key, headers, source, lines, peer, place, came }, written))
    }

    /// Waits for a sender's receivers and sends. Returns its body, for what comes after it.
    pub(crate) async fn send(&self, sender: Sender) -> (Outcome, Source) {
        let Sender { key, headers, mut source, lines, peer, place, came } = sender;
        let receivers = match place {
            Place::Complete(receivers) => receivers,
            Place::Waits(id, started) => {
                let peer = (peer.as_ref(), source.may_hide());
                match self.wait((&key, id, came), started, &lines, peer).await {
                    Some(receivers) => receivers,
                    None => return (Outcome::Told, source),
                }
            }
        };
        let times = receivers.iter().map(|waited| waited.came.at).collect();
        let mut under_way = UnderWay {
            relay: self,
            key: &key,
            session: Session::of_pair(came, times),
            metrics: self.metrics.of_pair(came.is_replayed),
            end: End::Cut,
        };
        let receivers = receivers.into_iter().map(|waited| waited.receiver).collect();
        let shared = (&under_way.metrics, &self.pipes);
        let end = transfer(&headers, &mut source, receivers, &lines, shared).await;
        under_way.end = end;
        drop(under_way);
        let outcome = if end == End::SenderLeft { Outcome::Broken } else { Outcome::Told };
        (outcome, source)
    }

    /// `None` if the sender has left, or has been told that nobody comes.
    async fn wait(
        &self,
        (key, id, came): (&str, Id, Came),
        started: oneshot::Receiver<Vec<WaitingReceiver>>,
        lines: &Lines,
        (peer, hides): (Option<&Peer>, bool),
    ) -> Option<Vec<WaitingReceiver>> {
        let left = async {
            match peer {
                Some(peer) => tokio::select! {
                    () = peer.left() => {}
                    () = lines.closed() => {}
                    () = probe(peer, lines) => {}
                },
                None => tokio::select! {
                    () = lines.closed() => {}
                    () = probe_through_proxy(lines), if hides => {}
                },
            }
        };
        tokio::select! {
            // A pair that is complete is served, even if its sender leaves in this moment.
            biased;
            // An error: the relay is shutting down.
            started = started => return started.ok(),
            () = left => {}
            () = sleep(self.wait_timeout) => lines.error("No receiver came in time."),
        }
        // Not waiting: a receiver has completed the pair just now, and lost its sender.
        if !self.leave(key, id) {
            self.pairing().finish(key);
            let metrics = self.metrics.of_pair(came.is_replayed);
            metrics.pair_ended(End::SenderLeft, came.at.elapsed(), Duration::ZERO);
        }
        None
    }

    /// A receiver comes; its place if it waits, or its answer as the error.
    pub(crate) fn receiver_comes(
        &self,
        asked: &Asked,
        receiver: Receiver,
    ) -> Result<Option<Id>, Answer> {
        let Asked { key, n, came, .. } = asked;
        let waiting = WaitingReceiver { receiver, came: *came };
        let entered = self.pairing().receiver_comes(key, *n, waiting, |sender| {
            sender.lines.info("A receiver was connected.");
        });
        match entered {
            Err(refusal) => Err(reply::refused(&refusal, key).into()),
            Ok(ReceiverCame::Waits(id)) => Ok(Some(id)),
            Ok(ReceiverCame::Completes(Pair { sender, receivers })) => {
                // If the sender has left in this moment, its task frees the key.
                let _ = sender.start.send(receivers);
                Ok(None)
            }
        }
    }

    /// Somebody leaves. Returns whether they waited.
    pub(crate) fn leave(&self, key: &str, id: Id) -> bool {
        let left = self.pairing().leave(key, id);
        let (came, sends) = match &left {
            Some(Left::Sender(sender)) => (sender.came, true),
            Some(Left::Receiver(receiver)) => (receiver.came, false),
            None => return false,
        };
        if !came.is_replayed {
            let is_over = came.at.elapsed() >= self.wait_timeout;
            let end = if is_over { Unpaired::Expired } else { Unpaired::Left };
            self.metrics.unpaired(end);
            self.sessions.keep(&Session::of_one(came, sends), end.as_str(), 0);
        }
        true
    }

    /// A panic elsewhere does not make the map wrong: each call leaves it whole.
    fn pairing(&self) -> MutexGuard<'_, Pairing<WaitingSender, WaitingReceiver>> {
        self.pairing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A pair that is established. However its task ends, the key is free then, and the session counts.
struct UnderWay<'a> {
    relay: &'a Relay,
    key: &'a str,
    session: Session,
    metrics: Metrics,
    /// Cut, unless the transfer says otherwise.
    end: End,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let UnderWay { relay, key, session, metrics, end } = self;
        relay.pairing().finish(key);
        let took = session.last().map_or(Duration::ZERO, |last| last.elapsed());
        metrics.pair_ended(*end, session.pairing(), took);
        if *end == End::Cut {
            tracing::warn!(bytes = metrics.received_bytes(), "a stream was cut");
        }
        if !session.is_replayed() {
            relay.sessions.keep(session, end.as_str(), metrics.received_bytes());
        }
    }
}

/// Asks the client's system now and then whether the client is still there. Never resolves.
async fn probe(peer: &Peer, lines: &Lines) {
    let mut ticks = interval(PROBE_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if peer.unread() >= MUCH_UNREAD {
            lines.probe();
        }
    }
}

/// The same, if a proxy is between: it reads no further than the window, and looks for its client only when it
/// reads or writes. There are few bytes to send, so the pauses grow. Never resolves.
async fn probe_through_proxy(lines: &Lines) {
    let mut pause = PROBE_INTERVAL;
    loop {
        tokio::time::sleep(pause).await;
        lines.probe();
        // After 80 minutes all bytes are sent.
        pause = pause.mul_f64(PAUSE_GROWTH);
    }
}

/// The number of receivers that a sender asks for, or why it is refused.
fn sender_count(request: &Parts) -> Result<u8, String> {
    if request.headers.contains_key(CONTENT_RANGE) {
        return Err(format!("Content-Range is not supported for now in {}", request.method));
    }
    match target::count(request.uri.query().unwrap_or_default()) {
        None => Err("Invalid \"n\" query parameter".to_owned()),
        Some(0) => Err("n should > 0, but n = 0.".to_owned()),
        Some(n) => Ok(n),
    }
}

/// The number of receivers that a receiver counts on, or why it is refused.
fn receiver_count(request: &Parts) -> Result<u8, &'static str> {
    if request.headers.get("service-worker").is_some_and(|value| value == "script") {
        return Err("Service Worker registration is rejected.");
    }
    match target::count(request.uri.query().unwrap_or_default()) {
        None => Err("Invalid query parameter \"n\""),
        Some(0) => Err("n should > 0, but n = 0."),
        Some(n) => Ok(n),
    }
}
