//! A sender, from its request to its end.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::poll_immediate;
use http::HeaderMap;
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::sleep;

use super::{Relay, WaitingReceiver, WaitingSender};
use crate::feed::Cut;
use crate::messages::{Messages, Written};
use crate::metrics::{End, PairMetrics};
use crate::pairing::{Came, Id};
use crate::reply;
use crate::request::{Answer, KeyRequest};
use crate::source::{Broken, Source};
use crate::transfer::transfer;

/// First pause between two probes. The pauses grow because each probe uses up one byte of the next message; the bytes
/// last for 80 minutes.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const PAUSE_GROWTH: f64 = 1.28;

/// A sender that has come. Dropping it means that it leaves.
pub(crate) struct Sender {
    state: State,
    headers: HeaderMap,
    source: Source,
    messages: Messages,
}

enum State {
    Waits(SenderWait, oneshot::Receiver<Vec<WaitingReceiver>>),
    Paired(UnderWay, Vec<WaitingReceiver>),
    /// Its wait ended without receivers, and it has been told.
    Told,
}

impl Sender {
    /// Registers a sender. Returns it with the body of its messages, or the answer that refuses it.
    pub(crate) fn come(
        relay: &Arc<Relay>,
        asked: KeyRequest,
        headers: HeaderMap,
        source: Source,
    ) -> Result<(Self, Written), Answer> {
        let KeyRequest { key, n, at, .. } = asked;
        let (messages, written) = Messages::new();
        let (start, started) = oneshot::channel();
        let waiting = WaitingSender { start, messages: messages.clone(), at };
        let came = relay.pairing().sender_comes(&key, n, waiting);
        let (came, connected) = came.map_err(|refusal| Box::new(reply::refused(&refusal, &key)))?;
        messages.info(&format!("Waiting for {n} receiver(s)..."));
        let relay = Arc::clone(relay);
        let state = match came {
            Came::Waits(id) => State::Waits(SenderWait { relay, key, id: Some(id), at }, started),
            Came::Completes(pair) => {
                State::Paired(UnderWay::new(relay, key, at, &pair.receivers), pair.receivers)
            }
        };
        if let Some(connected) = connected {
            messages.info(&format!("{connected} receiver(s) has/have been connected."));
        }
        Ok((Sender { state, headers, source, messages }, written))
    }

    /// Makes hyper send `100 Continue` before the answer begins.
    pub(crate) async fn ask_for_body(&mut self) {
        // The next read reports the same error.
        let _ = poll_immediate(self.source.read_ahead()).await;
        yield_now().await;
    }

    /// Waits until the receivers have come, the sender half-closes, or its time is over. Fails if its body breaks.
    pub(crate) async fn wait(self) -> Result<Self, Cut> {
        let Sender { state, headers, mut source, messages } = self;
        let State::Waits(mut waits, started) = state else {
            return Ok(Sender { state, headers, source, messages });
        };
        let relay = Arc::clone(&waits.relay);
        let receivers = tokio::select! {
            // A complete pair is served, even if its sender leaves at this moment.
            biased;
            // An error: the relay is shutting down.
            started = started => {
                waits.id = None;
                started.ok()
            }
            left = leaves(&mut source, &messages) => match left {
                Ok(()) => None,
                Err(Broken) => return Err(Cut),
            },
            () = sleep(relay.wait_timeout) => {
                messages.error("No receiver came in time.");
                None
            }
        };
        let state = match receivers {
            Some(receivers) => {
                let key = std::mem::take(&mut waits.key);
                State::Paired(UnderWay::new(relay, key, waits.at, &receivers), receivers)
            }
            None => State::Told,
        };
        Ok(Sender { state, headers, source, messages })
    }

    /// Sends the body, if there are receivers. Fails if the sender has left, or its body is broken.
    pub(crate) async fn send(self) -> Result<(), Cut> {
        let State::Paired(mut under_way, receivers) = self.state else { return Ok(()) };
        let receivers = receivers.into_iter().map(|waited| waited.answer).collect();
        let pair = &under_way.metrics;
        let ended = transfer(&self.headers, self.source, receivers, &self.messages, pair).await;
        under_way.end = Some(*ended.as_ref().unwrap_or(&End::SenderLeft));
        ended.map(drop).map_err(|Broken| Cut)
    }
}

/// Resolves once the sender has half-closed its connection. If it is gone, hyper drops this future, at the latest after
/// a probe.
async fn leaves(source: &mut Source, messages: &Messages) -> Result<(), Broken> {
    source.read_ahead().await?;
    let hides = source.may_hide();
    tokio::select! {
        () = source.closed() => Ok(()),
        never = probe(messages), if hides => match never {},
    }
}

/// Now and then checks whether the client is still there: while its bytes are unread, the end of its connection does
/// not show.
async fn probe(messages: &Messages) -> Infallible {
    let mut pause = FIRST_PAUSE;
    loop {
        sleep(pause).await;
        messages.probe();
        pause = pause.mul_f64(PAUSE_GROWTH);
    }
}

/// A sender that waits; dropping this removes it.
struct SenderWait {
    relay: Arc<Relay>,
    key: String,
    /// `None` once it no longer waits.
    id: Option<Id>,
    at: Instant,
}

impl Drop for SenderWait {
    fn drop(&mut self) {
        let SenderWait { relay, key, id, at } = self;
        let waited = id.take().is_none_or(|id| relay.leave(key, id));
        // It no longer waited: a receiver has just completed the pair, and lost its sender.
        if !waited && relay.pairing().finish(key) {
            relay.metrics.pair().ended(End::SenderLeft, at.elapsed(), Duration::ZERO);
        }
    }
}

/// An established pair. Dropping it frees the key and counts the pair.
struct UnderWay {
    relay: Arc<Relay>,
    key: String,
    metrics: Arc<PairMetrics>,
    pairing: Duration,
    last: Instant,
    /// `None` until the transfer has ended.
    end: Option<End>,
}

impl UnderWay {
    fn new(relay: Arc<Relay>, key: String, at: Instant, receivers: &[WaitingReceiver]) -> Self {
        let times = || receivers.iter().map(|receiver| receiver.at);
        let (first, last) =
            times().fold((at, at), |(first, last), at| (first.min(at), last.max(at)));
        let metrics = Arc::new(relay.metrics.pair());
        UnderWay { relay, key, metrics, pairing: last - first, last, end: None }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.relay.pairing().finish(&self.key);
        // hyper drops the answer of a sender that has left.
        let is_cut = self.relay.is_over() || std::thread::panicking();
        let end = self.end.unwrap_or(if is_cut { End::Cut } else { End::SenderLeft });
        self.metrics.ended(end, self.pairing, self.last.elapsed());
        if end == End::Cut {
            tracing::warn!(bytes = self.metrics.received_bytes(), "a stream was cut");
        }
    }
}
