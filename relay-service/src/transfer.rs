//! Moves a pair's bytes, at the pace of the slowest receiver.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::oneshot;

use crate::body::{Body, Ended, Feed, feed};
use crate::lines::Lines;
use crate::metrics::{End, Metrics};
use crate::multipart::{self, FirstPart};
use crate::peer::Peer;
use crate::reply;

/// Who sends.
pub(crate) struct Sender {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Incoming,
    pub(crate) lines: Lines,
    pub(crate) peer: Option<Peer>,
}

/// Who waits for an answer.
pub(crate) struct Receiver {
    answer: oneshot::Sender<Response<Body>>,
    peer: Option<Peer>,
}

impl Receiver {
    /// A receiver, and the answer that its request awaits.
    pub(crate) fn new(peer: Option<Peer>) -> (Self, oneshot::Receiver<Response<Body>>) {
        let (answer, answered) = oneshot::channel();
        (Receiver { answer, peer }, answered)
    }

    /// Answers it.
    pub(crate) fn answer(self, response: Response<Body>) {
        // It may have left.
        let _ = self.answer.send(response);
    }
}

/// The sender has left, or its body is broken.
struct Broken;

/// Sends until the body has ended, the sender has left, or the last receiver has. Returns which.
pub(crate) async fn transfer(sender: Sender, receivers: Vec<Receiver>, metrics: &Metrics) -> End {
    let Sender { headers, body, lines, peer } = sender;
    lines.info(&format!("Start sending to {} receiver(s)!", receivers.len()));
    let result = match Source::open(&headers, body, metrics).await {
        Ok((mut source, part)) => {
            let headers = reply::receiver_headers(&headers, part.as_ref());
            let mut open: Vec<Open> = receivers
                .into_iter()
                .map(|receiver| Open::begin(receiver, headers.clone()))
                .collect();
            send(&mut source, &mut open, &lines).await
        }
        Err(Broken) => Err(Broken),
    };
    match result {
        Ok(End::ReceiversLeft) => {
            lines.info("All receiver(s) was/were aborted halfway.");
            End::ReceiversLeft
        }
        Ok(end) => {
            lines.info("All receiver(s) was/were received successfully.");
            end
        }
        Err(Broken) => {
            // The receivers' feeds have been dropped, which cuts their answers.
            if let Some(peer) = peer {
                peer.cut();
            }
            End::SenderLeft
        }
    }
}

async fn send(source: &mut Source<'_>, open: &mut Vec<Open>, lines: &Lines) -> Result<End, Broken> {
    while let Some(bytes) = next(source, open, lines).await? {
        for receiver in open.iter_mut() {
            receiver.there = tokio::select! {
                is_there = receiver.feed.send(bytes.clone()) => is_there,
                // However slow the receiver is, it must not get a whole that has no end.
                () = lines.closed() => return Err(Broken),
            };
        }
        forget_left(open, lines);
        if open.is_empty() {
            return Ok(End::ReceiversLeft);
        }
    }
    if open.is_empty() {
        return Ok(End::ReceiversLeft);
    }
    lines.info("Sent successfully!");
    let mut ends = Vec::new();
    for Open { feed, ended, is_done, .. } in open.drain(..) {
        feed.end().await;
        ends.push((ended, is_done));
    }
    let mut whole = 0;
    for (ended, is_done) in ends {
        if is_done || ended.await.is_ok() {
            whole += 1;
        } else {
            lines.info("A receiver aborted.");
        }
    }
    Ok(if whole > 0 { End::Whole } else { End::ReceiversLeft })
}

/// The next bytes; `None` at the body's end, or if the last receiver leaves.
async fn next(
    source: &mut Source<'_>,
    open: &mut Vec<Open>,
    lines: &Lines,
) -> Result<Option<Bytes>, Broken> {
    loop {
        let left = tokio::select! {
            biased;
            bytes = source.next() => return bytes,
            left = one_leaves(open) => left,
        };
        open.swap_remove(left);
        lines.info("A receiver aborted.");
        if open.is_empty() {
            return Ok(None);
        }
    }
}

/// Resolves with the place of a receiver that has left.
async fn one_leaves(open: &mut [Open]) -> usize {
    poll_fn(|context| {
        let left = open.iter_mut().position(|receiver| receiver.has_left(context));
        left.map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

fn forget_left(open: &mut Vec<Open>, lines: &Lines) {
    open.retain(|receiver| {
        if !receiver.there {
            lines.info("A receiver aborted.");
        }
        receiver.there
    });
}

/// A receiver whose answer has begun.
struct Open {
    feed: Feed,
    ended: Ended,
    there: bool,
    /// It has got as many bytes as its Content-Length says.
    is_done: bool,
}

impl Open {
    fn begin(receiver: Receiver, headers: HeaderMap) -> Self {
        let length =
            headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        let (feed, ended, body) = feed(length, receiver.peer.clone());
        let mut response = Response::new(body);
        *response.headers_mut() = headers;
        // One that has left drops its body, which `ended` tells.
        receiver.answer(response);
        Open { feed, ended, there: true, is_done: false }
    }

    fn has_left(&mut self, context: &mut Context<'_>) -> bool {
        if self.is_done {
            return false;
        }
        match Pin::new(&mut self.ended).poll(context) {
            Poll::Ready(ended) => {
                self.is_done = ended.is_ok();
                !self.is_done
            }
            Poll::Pending => false,
        }
    }
}

/// The sender's bytes.
struct Source<'a> {
    body: Incoming,
    part: Option<FirstPart>,
    metrics: &'a Metrics,
}

impl<'a> Source<'a> {
    /// Begins to read. Of a multipart body, also returns the first part's headers.
    async fn open(
        headers: &HeaderMap,
        body: Incoming,
        metrics: &'a Metrics,
    ) -> Result<(Self, Option<HeaderMap>), Broken> {
        let mut source = Source { body, part: None, metrics };
        let Some(boundary) = multipart::boundary(headers) else { return Ok((source, None)) };
        let mut part = FirstPart::new(&boundary.map_err(|_| Broken)?);
        loop {
            if let Some(head) = part.head().map_err(|_| Broken)? {
                source.part = Some(part);
                return Ok((source, Some(head)));
            }
            part.push(&source.read().await?.ok_or(Broken)?);
        }
    }

    /// `None` at the end. Cancel safe.
    async fn next(&mut self) -> Result<Option<Bytes>, Broken> {
        loop {
            let Some(part) = &mut self.part else { return self.read().await };
            if let Some(bytes) = part.bytes().filter(|bytes| !bytes.is_empty()) {
                return Ok(Some(bytes));
            }
            let is_ended = part.is_ended();
            match self.read().await? {
                // What follows the part is read too, so that the sender can end.
                None => return if is_ended { Ok(None) } else { Err(Broken) },
                Some(piece) => {
                    if let Some(part) = &mut self.part {
                        part.push(&piece);
                    }
                }
            }
        }
    }

    async fn read(&mut self) -> Result<Option<Bytes>, Broken> {
        while let Some(frame) = self.body.frame().await {
            // Trailers are not passed on.
            if let Ok(bytes) = frame.map_err(|_| Broken)?.into_data() {
                self.metrics.received(bytes.len());
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }
}
