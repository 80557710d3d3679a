//! Moves a pair's bytes, at the pace of the slowest receiver.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt, TryStreamExt};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Response};
use multer::Multipart;
use tokio::sync::oneshot;

use crate::body::Body;
use crate::feed::{Fed, Feed};
use crate::messages::Messages;
use crate::metrics::{End, PairMetrics};
use crate::reply;
use crate::source::{Broken, Source};

/// Limit on the head of a form's first part, including the bytes before it.
const MAX_PART_HEAD_BYTES: usize = 64 * 1024;

/// The channel to a receiver that waits for its answer.
pub(crate) type Receiver = oneshot::Sender<Response<Body>>;

/// Sends until the body ends or the last receiver leaves, and returns which. Fails if the sender leaves or its body is
/// broken. The receivers' answers are then cut, as they are if this future is dropped.
pub(crate) async fn transfer(
    headers: &HeaderMap,
    source: Source,
    mut receivers: Vec<Receiver>,
    messages: &Messages,
    metrics: &Arc<PairMetrics>,
) -> Result<End, Broken> {
    messages.info(&format!("Start sending to {} receiver(s)!", receivers.len()));
    let boundary = boundary(headers).transpose()?;
    let length = source.length().filter(|_| boundary.is_none());
    let begun = reply::receiver_headers(headers, length, None);
    let mut bytes = source.into_stream(Arc::clone(metrics)).boxed();
    let mut transfer = Transfer { feeds: Vec::new(), messages };
    match (boundary, receivers.pop()) {
        (None, Some(only)) if receivers.is_empty() => {
            let (fed, ended) = Fed::directly(bytes, length);
            begin(only, &begun, fed);
            // An error means that the receiver has left.
            let is_whole = ended.await.ok().transpose()?.is_some();
            Ok(transfer.tell(&[is_whole]))
        }
        (boundary, last) => {
            receivers.extend(last);
            match boundary {
                None => {
                    transfer.begin(receivers, &begun, length);
                    transfer.pump(bytes).await?;
                }
                Some(boundary) => {
                    transfer.pump_part(headers, boundary, &mut bytes, receivers).await?;
                }
            }
            Ok(transfer.end().await)
        }
    }
}

/// Begins a receiver's answer.
fn begin(receiver: Receiver, headers: &HeaderMap, fed: Fed) {
    let mut response = Response::new(Body::Receiver(fed));
    response.headers_mut().clone_from(headers);
    // If the receiver has left, this drops the body, which the transfer notices.
    let _ = receiver.send(response);
}

/// The boundary, if the body is a form.
fn boundary(headers: &HeaderMap) -> Option<Result<String, Broken>> {
    let content_type = headers.get(CONTENT_TYPE)?;
    match multer::parse_boundary(content_type.to_str().ok()?) {
        Err(multer::Error::NoMultipart | multer::Error::DecodeContentType(_)) => None,
        boundary => Some(boundary.map_err(|_| Broken)),
    }
}

struct Transfer<'a> {
    /// The receivers that have not left.
    feeds: Vec<Feed>,
    messages: &'a Messages,
}

impl Transfer<'_> {
    /// Begins the receivers' answers.
    fn begin(&mut self, receivers: Vec<Receiver>, headers: &HeaderMap, length: Option<u64>) {
        for receiver in receivers {
            let (feed, fed) = Feed::new(length);
            begin(receiver, headers, fed);
            self.feeds.push(feed);
        }
    }

    /// Sends the first part of a form.
    async fn pump_part(
        &mut self,
        headers: &HeaderMap,
        boundary: String,
        bytes: &mut BoxStream<'static, Result<Bytes, Broken>>,
        receivers: Vec<Receiver>,
    ) -> Result<(), Broken> {
        // multer keeps all bytes until it has seen the end of the part's head, and reads all bytes that are ready
        // before it looks. Over HTTP/2 these can exceed the limit, so give one piece at a time.
        let (is_head, mut seen, mut gives) = (AtomicBool::new(true), 0, false);
        let mut cleaner = Cleaner::default();
        let limited = stream::poll_fn(|context| {
            let is_head = is_head.load(Ordering::Relaxed);
            gives = !gives || !is_head;
            if !gives {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            let next = bytes.poll_next_unpin(context);
            if let Poll::Ready(Some(Ok(bytes))) = &next {
                seen += bytes.len();
            }
            if is_head && seen > MAX_PART_HEAD_BYTES {
                return Poll::Ready(Some(Err(multer::Error::IncompleteHeaders)));
            }
            let next = next.map_err(|Broken| multer::Error::IncompleteStream);
            next.map_ok(|bytes| if is_head { cleaner.clean(bytes) } else { bytes })
        });
        let mut form = Multipart::new(limited, boundary);
        let part = form.next_field().await.ok().flatten().ok_or(Broken)?;
        is_head.store(false, Ordering::Relaxed);
        self.begin(receivers, &reply::receiver_headers(headers, None, Some(part.headers())), None);
        self.pump(part.map(|bytes| bytes.map_err(|_| Broken))).await?;
        drop(form);
        // Read the rest of the body too, so that the sender can finish.
        while !self.feeds.is_empty() && bytes.try_next().await?.is_some() {}
        Ok(())
    }

    /// Sends bytes until they end or no receiver is left.
    async fn pump(
        &mut self,
        bytes: impl Stream<Item = Result<Bytes, Broken>>,
    ) -> Result<(), Broken> {
        let mut bytes = pin!(bytes);
        while !self.feeds.is_empty() {
            let next = tokio::select! {
                biased;
                next = bytes.next() => next,
                left = one_leaves(&mut self.feeds) => {
                    self.feeds.swap_remove(left);
                    self.messages.info("A receiver aborted.");
                    continue;
                }
            };
            let Some(next) = next.transpose()? else { break };
            if !next.is_empty() {
                self.send(&next).await;
            }
        }
        Ok(())
    }

    /// Sends the bytes to all receivers, and removes those that have left.
    async fn send(&mut self, bytes: &Bytes) {
        let mut place = 0;
        while let Some(feed) = self.feeds.get(place) {
            if feed.send(bytes.clone()).await {
                place += 1;
            } else {
                self.feeds.remove(place);
                self.messages.info("A receiver aborted.");
            }
        }
    }

    /// Ends the receivers' answers. Returns how the pair ended.
    async fn end(mut self) -> End {
        let ends = join_all(self.feeds.drain(..).map(Feed::end)).await;
        self.tell(&ends)
    }

    /// Tells the sender how many of the remaining receivers have got everything. Returns how the pair ended.
    fn tell(&self, are_whole: &[bool]) -> End {
        let whole = are_whole.iter().filter(|&&is_whole| is_whole).count();
        if whole > 0 {
            self.messages.info("Sent successfully!");
        }
        for _ in whole..are_whole.len() {
            self.messages.info("A receiver aborted.");
        }
        if whole > 0 {
            self.messages.info("All receiver(s) was/were received successfully.");
            return End::Whole;
        }
        self.messages.info("All receiver(s) was/were aborted halfway.");
        End::ReceiversLeft
    }
}

/// Replaces control characters in the head of a form's first part by spaces (RFC 9110 section 5.5), such as a CR alone in
/// a file's name, which no header can have.
#[derive(Default)]
struct Cleaner {
    /// Whether the last byte was a CR, of which only the next byte tells whether it ends a line.
    has_cr: bool,
    line: Vec<u8>,
    is_after_boundary: bool,
    is_over: bool,
}

impl Cleaner {
    fn clean(&mut self, bytes: Bytes) -> Bytes {
        let mut clean = Vec::with_capacity(bytes.len() + 1);
        for (place, &byte) in bytes.iter().enumerate() {
            if self.is_over {
                clean.extend_from_slice(&bytes[place..]);
                break;
            }
            let had_cr = std::mem::replace(&mut self.has_cr, byte == b'\r');
            if had_cr && byte == b'\n' {
                clean.extend_from_slice(b"\r\n");
                self.is_over = self.is_after_boundary && self.line.is_empty();
                self.is_after_boundary |= self.line.starts_with(b"--");
                self.line.clear();
                continue;
            }
            let is_control = byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n');
            let alone = had_cr.then_some(b' ');
            let own = (byte != b'\r').then_some(if is_control { b' ' } else { byte });
            for byte in alone.into_iter().chain(own) {
                clean.push(byte);
                self.line.push(byte);
            }
        }
        clean.into()
    }
}

/// Resolves with the index of a receiver that has left.
async fn one_leaves(feeds: &mut [Feed]) -> usize {
    poll_fn(|context| {
        let left = feeds.iter_mut().position(|feed| feed.has_left(context));
        left.map_or(Poll::Pending, Poll::Ready)
    })
    .await
}
