//! What the routes of many items have in common.
//!
//! Every item is made and checked before the first byte is sent, so an answer has all of them or none. Then
//! each is made once more as the client reads: the answer is never in memory as a whole.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::poll_fn;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use http::request::Parts;
use serde_json::{Map, Value};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use utoipa::ToSchema;
use utoipa::openapi::{self, Content, Ref, RefOr};

use super::Api;
use super::bodies::read_body;
use super::qr::NO_STORE;
use crate::v1::fault::{Code, Fault, Problem, Refusal};
use crate::v1::items::{ItemFaults, MEDIA, read_items};
use crate::v1::parameters::{Schema, read_query};
use crate::v1::pool::Pool;

/// The longest body.
const MAX_BYTES: usize = 1 << 20;
/// Longest time to wait for a place.
const MAX_WAIT: Duration = Duration::from_secs(3);
/// Longest time to make all items. While they are made nothing is sent, and beyond ten seconds the server
/// takes the client for a slow one.
const MAX_TIME: Duration = Duration::from_secs(4);
/// Longest time to send an answer to a client that reads.
const MAX_SENDING: Duration = Duration::from_secs(60);
/// Items that a worker makes before others have their turn.
pub(super) const TURN: usize = 16;

/// The answers of these routes to what they refuse, for OpenAPI.
pub(super) struct Refused;

impl utoipa::IntoResponses for Refused {
    fn responses() -> BTreeMap<String, RefOr<openapi::Response>> {
        let answers = [
            ("400", "Wrong options or items"),
            ("408", "The body took too long"),
            ("413", "The body is too long"),
            ("415", "Another media type"),
            ("422", "Data that do not fit, symbols that nobody could read, or too much work"),
            ("503", "All workers are busy"),
        ];
        let problem = || Content::new(Some(Ref::from_schema_name(Problem::name())));
        let describe = |(status, description): (&str, &str)| {
            let answer = openapi::Response::builder().description(description);
            (status.to_owned(), answer.content("application/problem+json", problem()).into())
        };
        answers.into_iter().map(describe).collect()
    }
}

/// A form with a file of items.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes the form")]
pub(super) struct ItemsForm {
    /// A table as a spreadsheet saves it, or JSON. A form may call the field otherwise.
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
}

/// The values of a request.
pub(super) struct ItemsRequest {
    /// Those of the query, which all items have in common.
    pub(super) common: Map<String, Value>,
    /// Those of each item, which come first.
    pub(super) items: Vec<Map<String, Value>>,
    /// What is wrong with the query.
    pub(super) faults: Vec<Fault>,
    /// What is wrong with the items.
    pub(super) of_items: ItemFaults,
}

/// A place for a request of many items. It is taken before the body is read, so that few bodies take memory at once.
///
/// # Errors
/// If all places stay taken.
pub(super) async fn place_for(api: &Api) -> Result<OwnedSemaphorePermit, Refusal> {
    let place = tokio::time::timeout(MAX_WAIT, Arc::clone(&api.batches).acquire_owned()).await;
    place.map_err(|_| Refusal::Busy)?.map_err(|_| Refusal::Internal)
}

/// Reads a request, with the faults that concern names alone.
///
/// # Errors
/// If the body is too long, slow, or not what its media type says.
pub(super) async fn read_asked(
    parts: &Parts,
    body: Body,
    of_query: &[&Schema],
    of_item: &[&Schema],
) -> Result<ItemsRequest, Refusal> {
    let mut faults = Vec::new();
    let common = read_query(parts.uri.query().unwrap_or_default(), of_query, &mut faults);
    let (media, body) = read_body(&parts.headers, body, MEDIA, MAX_BYTES).await?;
    let mut of_items = ItemFaults::default();
    let items = read_items(media, &body, of_item, &mut of_items).map_err(Refusal::Body)?;
    Ok(ItemsRequest { common, items, faults, of_items })
}

/// Checks every item on the workers, in turns.
///
/// # Errors
/// All faults of all items, or that there are too many for the time.
pub(super) async fn check_all<T: Clone + Send + 'static>(
    pool: &Pool,
    items: &[T],
    check: impl Fn(&T) -> Result<(), Refusal> + Clone + Send + 'static,
) -> Result<(), Refusal> {
    let begun = Instant::now();
    let mut faults = ItemFaults::default();
    for (turn, some) in items.chunks(TURN).enumerate() {
        if begun.elapsed() > MAX_TIME {
            let made = turn * TURN;
            let detail = format!("{made} of {} items were made in {MAX_TIME:?}", items.len());
            let fault = Fault::new("items", Code::OutOfRange, detail).at_most(made as u32);
            return Err(Refusal::Unprocessable(vec![fault.suggest("send fewer items at once")]));
        }
        let (some, check) = (some.to_vec(), check.clone());
        let checked = pool.run(move || some.iter().map(check).collect::<Vec<_>>()).await?;
        for (index, checked) in checked.into_iter().enumerate() {
            match checked {
                Ok(()) => {}
                Err(Refusal::Unprocessable(of_item) | Refusal::Parameters(of_item)) => {
                    faults.add(turn * TURN + index, of_item);
                }
                Err(refusal) => return Err(refusal),
            }
        }
    }
    let faults = faults.finish();
    if faults.is_empty() { Ok(()) } else { Err(Refusal::Unprocessable(faults)) }
}

/// Where the parts of an answer go.
pub(super) struct Sending(mpsc::Sender<Result<Bytes, std::io::Error>>);

/// The client is gone, or something went wrong that cannot be told any more.
pub(super) struct Ended;

impl Sending {
    /// Sends a part once the client has read the one before.
    pub(super) async fn send(&self, part: Vec<u8>) -> Result<(), Ended> {
        self.0.send(Ok(part.into())).await.map_err(|_| Ended)
    }
}

/// Makes a part on a worker. It waits while all workers are busy: the answer has begun.
pub(super) async fn make<T: Send + 'static>(
    pool: &Pool,
    job: impl FnOnce() -> Result<T, Refusal> + Clone + Send + 'static,
) -> Result<T, Ended> {
    loop {
        match pool.run(job.clone()).await {
            Err(Refusal::Busy) => tokio::time::sleep(Duration::from_millis(20)).await,
            Ok(Ok(made)) => return Ok(made),
            _ => return Err(Ended),
        }
    }
}

/// Answers with a file, whose parts `send` makes while the client reads. The place is held until then.
pub(super) fn stream<F: Future<Output = Result<(), Ended>> + Send + 'static>(
    place: OwnedSemaphorePermit,
    media: &'static str,
    disposition: &'static str,
    send: impl FnOnce(Sending) -> F,
) -> Response {
    let (sender, mut receiver) = mpsc::channel::<Result<Bytes, std::io::Error>>(1);
    let sending = send(Sending(sender.clone()));
    drop(tokio::spawn(async move {
        let _place = place;
        if !matches!(tokio::time::timeout(MAX_SENDING, sending).await, Ok(Ok(()))) {
            // Without it, the file would seem to end here.
            let _ = sender.send(Err(std::io::ErrorKind::TimedOut.into())).await;
        }
    }));
    let parts = poll_fn(move |context| receiver.poll_recv(context));
    let mut response = Response::new(Body::from_stream(parts));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(CACHE_CONTROL, NO_STORE);
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static(disposition));
    response
}
