//! The common part of the routes that take many items.
//!
//! Every item is made and checked before the first byte is sent, so an answer has all items or is an error. Then
//! each item is made again while the client reads, so the answer is never in memory as a whole.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::poll_fn;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use http::request::Parts;
use qr_options::OPTIONS;
use serde_json::{Map, Value};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use utoipa::ToSchema;
use utoipa::openapi::{self, Content, Ref, RefOr};

use super::Api;
use super::bodies::read_body;
use super::qr::NO_STORE;
use crate::v1::fault::{Code, Fault, Problem, Refusal};
use crate::v1::items::{COLUMNS, Columns, ItemFaults, MEDIA, read_items};
use crate::v1::parameters::{Schema, read_query};
use crate::v1::pool::Pool;
use crate::v1::sheet::SHEET;

/// The longest body.
const MAX_BYTES: usize = 1 << 20;
/// Longest time to wait for a place.
const MAX_WAIT: Duration = Duration::from_secs(3);
/// Longest time to make all items. Nothing is sent while they are made, and after the write timeout, 10 s by default,
/// the server would close the connection.
pub(super) const MAX_TIME: Duration = Duration::from_secs(4);
/// Longest time to send an answer to a client that reads.
const MAX_SENDING: Duration = Duration::from_secs(60);
/// Items that a worker makes in a row before it takes other jobs.
pub(super) const TURN: usize = 16;

/// The error answers of these routes, for the OpenAPI document.
pub(super) struct ErrorAnswers;

impl utoipa::IntoResponses for ErrorAnswers {
    fn responses() -> BTreeMap<String, RefOr<openapi::Response>> {
        let answers = [
            ("400", "Wrong options or items"),
            ("408", "The body took too long"),
            ("413", "The body is too long"),
            ("415", "Another media type"),
            ("422", "Data does not fit, a symbol cannot be read, or the items take too long"),
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
    /// A CSV table, as spreadsheets save it, or JSON. The field may have any name.
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
}

/// The values of a request.
pub(super) struct ItemsRequest {
    /// Values of the query, for all items.
    pub(super) common: Map<String, Value>,
    /// Values of each item, which override those of the query.
    pub(super) items: Vec<Map<String, Value>>,
    /// Faults of the query.
    pub(super) faults: Vec<Fault>,
    /// Faults of the items.
    pub(super) of_items: ItemFaults,
}

/// Waits for a place for a request of many items. It is taken before the body is read, so that few bodies take memory
/// at once. Fails with [`Refusal::Busy`] if no place becomes free.
pub(super) async fn place_for(api: &Api) -> Result<OwnedSemaphorePermit, Refusal> {
    let place = tokio::time::timeout(MAX_WAIT, Arc::clone(&api.batches).acquire_owned()).await;
    place.map_err(|_| Refusal::Busy)?.map_err(|_| Refusal::Internal)
}

/// Reads the query and the items of a request, with faults for names that are unknown or repeated, and returns what
/// `plan` makes of them. Works on a worker: a megabyte of wrong items takes long to read. The query may have the
/// parameters of a sheet too if it `has_sheet`. Fails if the body is too long, slow, or does not match its media type.
pub(super) async fn read_request<T: Send + 'static>(
    pool: &Pool,
    parts: &Parts,
    body: Body,
    has_sheet: bool,
    plan: fn(ItemsRequest) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let (media, body) = read_body(&parts.headers, body, MEDIA, MAX_BYTES).await?;
    let job = move || {
        let (mut faults, mut of_items) = (Vec::new(), ItemFaults::default());
        let of_query: [&Schema; 3] = [&OPTIONS, &COLUMNS, &SHEET];
        let of_query = &of_query[..if has_sheet { 3 } else { 2 }];
        let common = read_query(&query, of_query, &mut faults);
        let columns: Columns = COLUMNS.read(&common, &mut faults).unwrap_or_default();
        let items = read_items(media, &body, &[&OPTIONS], &columns, &mut of_items);
        plan(ItemsRequest { common, items: items.map_err(Refusal::Body)?, faults, of_items })
    };
    pool.run(job).await?
}

/// Checks every item on the workers, in turns. Fails with all faults of all items, or one fault if the items take too
/// long.
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

/// Sends the parts of an answer.
pub(super) struct Sending(mpsc::Sender<Result<Bytes, std::io::Error>>);

/// The answer ended early: the client has disconnected, or an error happened after the answer had begun.
pub(super) struct EarlyEnd;

impl Sending {
    /// Sends a part once the client has read the one before.
    pub(super) async fn send(&self, part: Vec<u8>) -> Result<(), EarlyEnd> {
        self.0.send(Ok(part.into())).await.map_err(|_| EarlyEnd)
    }
}

/// Makes a part on a worker. Waits while all workers are busy, because an answer that has begun cannot become a 503.
pub(super) async fn make<T: Send + 'static>(
    pool: &Pool,
    job: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, EarlyEnd> {
    pool.run_in_turn(job).await.flatten().map_err(|_| EarlyEnd)
}

/// Answers with a file, whose parts `send` makes while the client reads. Holds `place` until the end.
pub(super) fn stream<F: Future<Output = Result<(), EarlyEnd>> + Send + 'static>(
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
            // Without an error the file would seem complete.
            let _ = sender.send(Err(std::io::ErrorKind::TimedOut.into())).await;
        }
    }));
    let parts = poll_fn(move |context| receiver.poll_recv(context));
    let named = [(CONTENT_TYPE, media), (CONTENT_DISPOSITION, disposition)];
    (named, [(CACHE_CONTROL, NO_STORE)], Body::from_stream(parts)).into_response()
}
