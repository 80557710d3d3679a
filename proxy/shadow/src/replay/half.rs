//! One half of a session: a request over HTTP/2 on a connection of its own, as nginx makes it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use route::BaseUrl;
use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::client::{Failure, Reason};

/// Headers that name a server, a request or a moment.
const NOT_COMPARED: [&str; 4] = ["date", "server", "x-served-by", "x-request-id"];

/// What a half gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, String>,
    /// A sender's lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lines: Option<String>,
    /// Of a receiver's bytes: SHA-256.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sha256: Option<String>,
    pub(super) end: End,
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    Whole,
    Cut,
    /// The half has left by itself.
    Left,
}

impl Answer {
    pub(super) fn begun(status: u16, headers: &HeaderMap) -> Self {
        let mut all: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in headers {
            if NOT_COMPARED.contains(&name.as_str()) {
                continue;
            }
            let value = String::from_utf8_lossy(value.as_bytes());
            let known = all.entry(name.to_string()).or_default();
            *known =
                if known.is_empty() { value.into_owned() } else { format!("{known}, {value}") };
        }
        Answer { status, headers: all, lines: None, sha256: None, end: End::Left }
    }
}

/// A request's body, which comes in pieces.
pub(super) struct Outgoing(pub(super) mpsc::Receiver<Bytes>);

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }

    /// A request without a body ends with its head.
    fn is_end_stream(&self) -> bool {
        self.0.is_closed() && self.0.is_empty()
    }
}

/// A connection. It is closed as soon as this is dropped, whatever is under way.
pub(super) struct Connection {
    request: SendRequest<Outgoing>,
    task: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Connection {
    pub(super) async fn open(url: &BaseUrl) -> Result<Self, Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure {
            reason: Reason::Connect,
            detail: error.to_string(),
        };
        let stream = TcpStream::connect(url.authority()).await.map_err(|error| failed(&error))?;
        // If this fails, the connection is gone, and the request says so.
        let _ = stream.set_nodelay(true);
        let (request, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .map_err(|error| failed(&error))?;
        let task = tokio::spawn(async move {
            // The request's own error says more.
            let _ = connection.await;
        });
        Ok(Connection { request, task })
    }

    /// Closes it, as a client does that leaves.
    pub(super) fn close(&self) {
        self.task.abort();
    }

    pub(super) async fn ask(
        &mut self,
        request: Request<Outgoing>,
    ) -> Result<Response<Incoming>, Failure> {
        let response = self
            .request
            .send_request(request)
            .await
            .map_err(|error| Failure { reason: Reason::Broken, detail: error.to_string() })?;
        if matches!(response.status().as_u16(), 502..=504) {
            let detail = format!("status {}", response.status().as_u16());
            return Err(Failure { reason: Reason::Unavailable, detail });
        }
        Ok(response)
    }
}

/// What a receiver has got, and when.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) answer: Answer,
    pub(super) begun: Instant,
    pub(super) ended: Instant,
}

/// Receives until the end, or until `stop_after` bytes, and then leaves. Tells `progress` how many have come.
pub(super) async fn receive(
    mut connection: Connection,
    request: Request<Outgoing>,
    stop_after: Option<u64>,
    progress: watch::Sender<Option<u64>>,
) -> Result<Received, Failure> {
    let response = connection.ask(request).await?;
    let begun = Instant::now();
    let mut answer = Answer::begun(response.status().as_u16(), response.headers());
    let mut body = response.into_body();
    let (mut digest, mut count) = (Sha256::new(), 0);
    progress.send_replace(Some(count));
    answer.end = loop {
        if stop_after.is_some_and(|most| count >= most) {
            break End::Left;
        }
        match body.frame().await {
            None => break End::Whole,
            Some(Err(_)) => break End::Cut,
            Some(Ok(frame)) => {
                let Ok(bytes) = frame.into_data() else { continue };
                let rest = stop_after.map_or(u64::MAX, |most| most - count);
                let bytes = &bytes[..bytes.len().min(usize::try_from(rest).unwrap_or(usize::MAX))];
                digest.update(bytes);
                count += bytes.len() as u64;
                progress.send_replace(Some(count));
            }
        }
    };
    answer.sha256 = Some(format!("{:x}", digest.finalize()));
    Ok(Received { answer, begun, ended: Instant::now() })
}

/// A sender's lines so far, and their end.
pub(super) type Lines = watch::Receiver<(String, Option<End>)>;

/// Reads a sender's lines in the background, at most so many bytes.
pub(super) fn read_lines(mut body: Incoming, most: usize) -> Lines {
    let (tell, lines) = watch::channel((String::new(), None));
    tokio::spawn(async move {
        let end = loop {
            match body.frame().await {
                None => break End::Whole,
                Some(Err(_)) => break End::Cut,
                Some(Ok(frame)) => {
                    let Ok(bytes) = frame.into_data() else { continue };
                    tell.send_modify(|(text, _)| *text += &String::from_utf8_lossy(&bytes));
                    if tell.borrow().0.len() > most || tell.is_closed() {
                        break End::Left;
                    }
                }
            }
        };
        tell.send_modify(|(_, ended)| *ended = Some(end));
    });
    lines
}
