//! Moves a pair's bytes, at the pace of the slowest receiver.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::join_all;
use http::{HeaderMap, Method, Response, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::oneshot;

use crate::body::{Body, Ended, Feed, feed};
use crate::http1::pipe::{Pipe, Pipes, Slot};
use crate::http1::sink::{Sink, Told, WaitingSocket};
use crate::http1::source::SocketBody;
use crate::http2;
use crate::lines::Lines;
use crate::metrics::{End, Metrics};
use crate::multipart::{self, FirstPart};
use crate::reply;

/// The body of a sender.
pub(crate) enum Source {
    Http1(SocketBody),
    Http2(Incoming),
}

/// Who waits for an answer.
pub(crate) enum Receiver {
    Http1(WaitingSocket),
    Http2(oneshot::Sender<Response<Body>>),
}

/// Bytes of a body: some in memory, and after them some in a pipe.
pub(crate) struct Piece {
    pub(crate) bytes: Bytes,
    pub(crate) piped: usize,
}

/// The sender has left, or its body is broken.
#[derive(Debug)]
pub(crate) struct Broken;

impl Source {
    /// The length, if the head says it.
    fn length(&self) -> Option<u64> {
        match self {
            Source::Http1(body) => body.length(),
            Source::Http2(body) => body.size_hint().exact(),
        }
    }

    /// Whether a proxy reads less than all of it while the sender waits, and so does not see its client leave.
    pub(crate) fn may_hide(&self) -> bool {
        self.length().is_none_or(|length| length > u64::from(http2::WINDOW))
    }

    async fn read(&mut self, slot: &mut Slot) -> Result<Option<Piece>, Broken> {
        let body = match self {
            Source::Http1(body) => return body.next(slot).await,
            Source::Http2(body) => body,
        };
        while let Some(frame) = body.frame().await {
            // Trailers are not passed on.
            if let Ok(bytes) = frame.map_err(|_| Broken)?.into_data() {
                return Ok(Some(Piece { bytes, piped: 0 }));
            }
        }
        Ok(None)
    }
}

impl Receiver {
    /// Answers it.
    pub(crate) fn answer(self, response: Response<Body>) {
        // It may have left.
        match self {
            Receiver::Http1(receiver) => drop(receiver.told.send(Told::Answer(response))),
            Receiver::Http2(answer) => drop(answer.send(response)),
        }
    }

    fn begin(self, mut headers: HeaderMap, length: Option<u64>, metrics: &Metrics) -> Open {
        match self {
            Receiver::Http1(receiver) => {
                metrics.answered(&Method::GET, StatusCode::OK);
                reply::stamp(&mut headers);
                Open::Http1(receiver.begin(headers, length))
            }
            Receiver::Http2(_) => {
                let (feed, ended, body) = feed(length);
                let mut response = Response::new(body);
                *response.headers_mut() = headers;
                // One that has left drops its body, which `ended` tells.
                self.answer(response);
                Open::Http2 { feed, ended, is_done: false }
            }
        }
    }
}

/// Sends until the body has ended, the sender has left, or the last receiver has. Returns which.
pub(crate) async fn transfer(
    headers: &HeaderMap,
    source: &mut Source,
    receivers: Vec<Receiver>,
    lines: &Lines,
    (metrics, pipes): (&Metrics, &Pipes),
) -> End {
    lines.info(&format!("Start sending to {} receiver(s)!", receivers.len()));
    let result = match Reader::open(headers, source, metrics).await {
        Ok((mut reader, part)) => {
            let length = reader.source.length().filter(|_| part.is_none());
            let headers = reply::receiver_headers(headers, length, part.as_ref());
            let mut open: Vec<Open> = receivers
                .into_iter()
                .map(|receiver| receiver.begin(headers.clone(), length, metrics))
                .collect();
            reader.splice(&open, pipes);
            send(&mut reader, &mut open, lines).await
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
        // The receivers have been dropped, which cuts their answers.
        Err(Broken) => End::SenderLeft,
    }
}

async fn send(reader: &mut Reader<'_>, open: &mut Vec<Open>, lines: &Lines) -> Result<End, Broken> {
    while let Some(piece) = next(reader, open, lines).await? {
        tokio::select! {
            biased;
            sent = reader.send(piece, open, lines) => sent?,
            // However slow the receivers are, none must get a whole that has no end.
            () = lines.closed() => return Err(Broken),
        }
        if open.is_empty() {
            return Ok(End::ReceiversLeft);
        }
    }
    if open.is_empty() {
        return Ok(End::ReceiversLeft);
    }
    lines.info("Sent successfully!");
    let mut whole = 0;
    for is_whole in join_all(open.drain(..).map(Open::end)).await {
        if is_whole {
            whole += 1;
        } else {
            lines.info("A receiver aborted.");
        }
    }
    Ok(if whole > 0 { End::Whole } else { End::ReceiversLeft })
}

/// The next piece; `None` at the body's end, or if the last receiver leaves.
async fn next(
    reader: &mut Reader<'_>,
    open: &mut Vec<Open>,
    lines: &Lines,
) -> Result<Option<Piece>, Broken> {
    loop {
        let left = tokio::select! {
            biased;
            piece = reader.next() => return piece,
            left = one_leaves(open) => left,
        };
        open.swap_remove(left);
        lines.info("A receiver aborted.");
        if open.is_empty() {
            return Ok(None);
        }
    }
}

/// While the sender pauses: writes what receivers have not got yet, and resolves with the place of one that
/// has left.
async fn one_leaves(open: &mut [Open]) -> usize {
    for (place, receiver) in open.iter_mut().enumerate() {
        if let Open::Http1(sink) = receiver
            && sink.settle().await.is_err()
        {
            return place;
        }
    }
    poll_fn(|context| {
        let left = open.iter_mut().position(|receiver| receiver.has_left(context));
        left.map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

/// A receiver whose answer has begun.
enum Open {
    Http1(Sink),
    Http2 {
        feed: Feed,
        ended: Ended,
        /// It has got as many bytes as its Content-Length says.
        is_done: bool,
    },
}

impl Open {
    /// Returns whether the receiver is still there.
    async fn send(&mut self, piece: &Piece, shared: Option<&mut Pipe>) -> bool {
        match self {
            Open::Http1(sink) => sink.send(piece, shared).await,
            Open::Http2 { feed, .. } => feed.send(piece.bytes.clone()).await,
        }
    }

    /// Returns whether it has got the whole.
    async fn end(self) -> bool {
        match self {
            Open::Http1(sink) => sink.end().await,
            Open::Http2 { feed, ended, is_done } => {
                feed.end().await;
                is_done || ended.await.is_ok()
            }
        }
    }

    fn has_left(&mut self, context: &mut Context<'_>) -> bool {
        match self {
            Open::Http1(sink) => sink.poll_left(context).is_ready(),
            Open::Http2 { is_done: true, .. } => false,
            Open::Http2 { ended, is_done, .. } => match Pin::new(ended).poll(context) {
                Poll::Ready(ended) => {
                    *is_done = ended.is_ok();
                    !*is_done
                }
                Poll::Pending => false,
            },
        }
    }
}

/// Reads what receivers get.
struct Reader<'a> {
    source: &'a mut Source,
    part: Option<FirstPart>,
    /// Large pieces go through its pipe, if the sender and all receivers speak HTTP/1.
    slot: Slot,
    metrics: &'a Metrics,
}

impl<'a> Reader<'a> {
    /// Begins to read. Of a multipart body, also returns the first part's headers.
    async fn open(
        headers: &HeaderMap,
        source: &'a mut Source,
        metrics: &'a Metrics,
    ) -> Result<(Self, Option<HeaderMap>), Broken> {
        let mut reader = Reader { source, part: None, slot: Slot::default(), metrics };
        let Some(boundary) = multipart::boundary(headers) else { return Ok((reader, None)) };
        let mut part = FirstPart::new(&boundary.map_err(|_| Broken)?);
        loop {
            if let Some(head) = part.head().map_err(|_| Broken)? {
                reader.part = Some(part);
                return Ok((reader, Some(head)));
            }
            part.push(&reader.read().await?.ok_or(Broken)?.bytes);
        }
    }

    /// Uses pipes, if the bytes can go through them.
    fn splice(&mut self, open: &[Open], pipes: &Pipes) {
        let is_http1 = |receiver: &Open| matches!(receiver, Open::Http1(_));
        if matches!(self.source, Source::Http1(_))
            && self.part.is_none()
            && open.iter().all(is_http1)
        {
            self.slot = Slot::new(pipes);
        }
    }

    /// `None` at the end. Cancel safe.
    async fn next(&mut self) -> Result<Option<Piece>, Broken> {
        loop {
            let Some(part) = &mut self.part else { return self.read().await };
            if let Some(bytes) = part.bytes().filter(|bytes| !bytes.is_empty()) {
                return Ok(Some(Piece { bytes, piped: 0 }));
            }
            let is_ended = part.is_ended();
            match self.read().await? {
                // What follows the part is read too, so that the sender can end.
                None => return if is_ended { Ok(None) } else { Err(Broken) },
                Some(piece) => {
                    if let Some(part) = &mut self.part {
                        part.push(&piece.bytes);
                    }
                }
            }
        }
    }

    async fn read(&mut self) -> Result<Option<Piece>, Broken> {
        let piece = self.source.read(&mut self.slot).await?;
        if let Some(piece) = &piece {
            self.metrics.received(piece.bytes.len() + piece.piped);
        }
        Ok(piece)
    }

    /// Writes a piece to all receivers, and drops those that have left.
    async fn send(
        &mut self,
        mut piece: Piece,
        open: &mut Vec<Open>,
        lines: &Lines,
    ) -> Result<(), Broken> {
        if let [only] = &mut open[..] {
            if !only.send(&piece, self.slot.held()).await {
                open.clear();
                lines.info("A receiver aborted.");
            }
            self.slot.settle();
            return Ok(());
        }
        if piece.piped > 0 && self.share(open).is_err() {
            // Too many pipes, or too small ones: copy from now on.
            piece = self.slot.copy(&piece).map_err(|_| Broken)?;
            self.slot = Slot::default();
        }
        // The last takes the bytes themselves, the others have a share.
        let mut pipe = self.slot.held();
        let sends = open.iter_mut().rev().map(|receiver| receiver.send(&piece, pipe.take()));
        let mut are_there = join_all(sends).await;
        open.retain(|_| {
            let stays = are_there.pop().unwrap_or_default();
            if !stays {
                lines.info("A receiver aborted.");
            }
            stays
        });
        self.slot.settle();
        Ok(())
    }

    /// Gives all receivers but the last a share of what is in the pipe.
    fn share(&mut self, open: &mut [Open]) -> io::Result<()> {
        let Some((_, others)) = open.split_last_mut() else { return Ok(()) };
        for receiver in others {
            if let Open::Http1(sink) = receiver {
                self.slot.share(sink.own_pipe())?;
            }
        }
        Ok(())
    }
}
