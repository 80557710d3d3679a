//! One request of an HTTP/1 connection, and its answer.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONNECTION, EXPECT};
use http::request::Parts;
use http::{HeaderMap, Method, Response, StatusCode, Version};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use super::head::{self, AnswerBody};
use super::sink::{Told, WaitingSocket};
use super::source::{Framing, SocketBody};
use crate::body::Body;
use crate::handler::{Asked, Outcome, Relay};
use crate::lines;
use crate::peer::Peer;
use crate::reply;
use crate::transfer::{Receiver, Source};

/// Longest time in which a client may take the rest of an answer that is a few lines.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
const OK_LINE: &[u8; 17] = b"HTTP/1.0 200 OK\r\n";
const LINE_END: &[u8; 2] = b"\r\n";

/// What follows an answer.
pub(super) enum Next {
    /// Another request, of which these bytes have been read.
    Request(BytesMut),
    /// The connection ends in order.
    Close,
    /// The answer is not whole, and the client must not take it for one.
    Cut,
}

pub(super) struct Exchange<'a> {
    relay: &'a Arc<Relay>,
    peer: &'a Peer,
    method: Method,
    version: Version,
    /// The connection ends after the answer.
    closes: bool,
}

impl<'a> Exchange<'a> {
    /// `closes`: the connection must end after the answer, whatever the request says.
    pub(super) fn new(
        relay: &'a Arc<Relay>,
        peer: &'a Peer,
        request: &Parts,
        closes: bool,
    ) -> Self {
        let (method, version) = (request.method.clone(), request.version);
        let closes = closes || version == Version::HTTP_10 || wants_close(&request.headers);
        Exchange { relay, peer, method, version, closes }
    }

    /// Answers the request; `ahead` has been read beyond its head.
    pub(super) async fn run(mut self, request: Parts, framing: Framing, ahead: BytesMut) -> Next {
        let body = SocketBody::new(self.peer.clone(), ahead, framing);
        match Relay::check(&request) {
            Err(response) => self.answer(*response, body).await,
            Ok(asked) if asked.sends => self.send(asked, request, body).await,
            Ok(asked) => {
                // Its headers share hyper's buffer of 8 KiB, which nobody needs while this waits.
                drop(request);
                self.receive(asked, body).await
            }
        }
    }

    async fn send(mut self, asked: Asked, request: Parts, body: SocketBody) -> Next {
        let expects = request.headers.get(EXPECT);
        let continues =
            expects.is_some_and(|it| it.as_bytes().eq_ignore_ascii_case(b"100-continue"));
        let came = self.relay.sender_comes(
            asked,
            reply::described(&request.headers),
            Source::Http1(body),
            Some(self.peer.clone()),
        );
        drop(request);
        let (sender, lines) = match came {
            Ok(came) => came,
            Err(refused) => match *refused {
                (response, Source::Http1(body)) => return self.answer(response, body).await,
                _ => return Next::Cut,
            },
        };
        let mut writing = pin!(self.write_lines(lines, continues));
        let mut sending = pin!(self.relay.send(sender));
        let mut is_written = None;
        let (outcome, source) = tokio::select! {
            biased;
            sent = &mut sending => sent,
            // Nobody reads the lines any more, which tells the one who sends.
            written = &mut writing => {
                is_written = Some(written);
                sending.await
            }
        };
        if outcome == Outcome::Broken {
            return Next::Cut;
        }
        let is_written = match is_written {
            Some(written) => written.is_ok(),
            None => timeout(WRITE_TIMEOUT, writing).await.is_ok_and(|written| written.is_ok()),
        };
        match source {
            _ if !is_written => Next::Cut,
            Source::Http1(body) if body.is_ended() && !self.closes => {
                Next::Request(body.into_ahead())
            }
            _ => Next::Close,
        }
    }

    /// Writes a sender's answer, until nobody can write a line any more.
    async fn write_lines(&self, written: mpsc::Receiver<Bytes>, continues: bool) -> io::Result<()> {
        if self.version == Version::HTTP_10 {
            // It cannot read chunks, so it gets all lines at the end.
            let (lines, is_begun) = lines::collect(self.peer, OK_LINE, written).await?;
            let mut answer = self.whole(reply::text(Body::full(lines)))?;
            if is_begun {
                answer.splice(..OK_LINE.len(), *LINE_END);
            }
            return self.peer.write_all(&answer).await;
        }
        let mut answer = reply::text(Body::Full(None));
        self.relay.stamp(&self.method, StatusCode::OK, answer.headers_mut());
        let mut head = head::write(&answer, self.version, AnswerBody::Chunked, self.closes);
        if continues {
            // The answer does not wait for the body, so it is asked for before.
            head.splice(..0, *b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        lines::write(self.peer, head, written).await
    }

    async fn receive(mut self, asked: Asked, mut body: SocketBody) -> Next {
        // Like hyper, a body that nobody wants is dropped if it is short, else the connection ends.
        self.closes |= !body.skip();
        let (told, mut tells) = oneshot::channel();
        let receiver = Receiver::Http1(WaitingSocket {
            peer: self.peer.clone(),
            version: self.version,
            closes: self.closes,
            told,
        });
        let id = match self.relay.receiver_comes(&asked, receiver) {
            Ok(id) => id,
            Err(response) => return self.answer(*response, body).await,
        };
        let told = tokio::select! {
            biased;
            told = &mut tells => told.ok(),
            () = self.peer.left() => match id {
                Some(id) if self.relay.leave(&asked.key, id) => return Next::Cut,
                // The pair is complete: who sends sees that the receiver has left.
                _ => tells.await.ok(),
            },
            () = sleep(self.relay.wait_timeout()) => match id {
                Some(id) if self.relay.leave(&asked.key, id) => {
                    Some(Told::Answer(reply::unavailable("No sender came in time.")))
                }
                _ => tells.await.ok(),
            },
        };
        match told {
            None => Next::Cut,
            Some(Told::Answer(response)) => self.answer(response, body).await,
            Some(Told::Whole) if self.closes => Next::Close,
            Some(Told::Whole) => Next::Request(body.into_ahead()),
        }
    }

    /// Writes an answer that is known as a whole.
    async fn answer(&mut self, response: Response<Body>, mut body: SocketBody) -> Next {
        let is_skipped = body.skip();
        match timeout(WRITE_TIMEOUT, self.write(response)).await {
            Ok(Ok(())) if is_skipped && !self.closes => Next::Request(body.into_ahead()),
            Ok(Ok(())) => Next::Close,
            _ => Next::Cut,
        }
    }

    async fn write(&self, response: Response<Body>) -> io::Result<()> {
        self.peer.write_all(&self.whole(response)?).await
    }

    /// The bytes of an answer that is known as a whole.
    fn whole(&self, mut response: Response<Body>) -> io::Result<Vec<u8>> {
        let status = response.status();
        self.relay.stamp(&self.method, status, response.headers_mut());
        let text = match response.body_mut() {
            Body::Full(text) => text.take().unwrap_or_default(),
            Body::Lines(_) | Body::Pieces(_) => return Err(io::ErrorKind::Unsupported.into()),
        };
        let body = match text.len() {
            // An OPTIONS answer has its length already.
            0 => AnswerBody::Described,
            length => AnswerBody::Length(length),
        };
        let mut bytes = head::write(&response, self.version, body, self.closes);
        if self.method != Method::HEAD {
            bytes.extend_from_slice(&text);
        }
        Ok(bytes)
    }
}

fn wants_close(headers: &HeaderMap) -> bool {
    let values = headers.get_all(CONNECTION).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|one| one.trim().eq_ignore_ascii_case("close"))
}
