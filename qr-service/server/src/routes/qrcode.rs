//! `GET /qrcode?text=...`: the picture, or 304 if the client has it.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use axum::response::IntoResponse;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG};
use http::{HeaderValue, Method, Request, Response};
use qr_query::{MAX_TEXT_BYTES, parse_text};
use service_kit::{is_known, not_modified};

use crate::answer::AnswerBody;
use crate::app::App;
use crate::error::Error;

const CACHE: HeaderValue = HeaderValue::from_static("public, max-age=86400");
const PNG: HeaderValue = HeaderValue::from_static("image/png");

thread_local! {
    /// The picture is drawn here and then copied: one allocation per answer, of the exact size.
    pub(super) static PICTURE: RefCell<Vec<u8>> = RefCell::new(Vec::with_capacity(4096));
}

/// [`respond`], as a handler of axum.
#[cfg(feature = "api")]
pub(super) async fn get(
    axum::extract::State(app): axum::extract::State<&'static App>,
    request: axum::extract::Request,
) -> axum::response::Response {
    respond(app, &request).map(axum::body::Body::new)
}

/// Answers a request of any method.
///
/// A panic ends only its request. It is caught here because no other code can panic on a text;
/// tower-http's layer would also box every body once more.
pub(super) fn respond<B>(app: &App, request: &Request<B>) -> Response<AnswerBody> {
    let answered = catch_unwind(AssertUnwindSafe(|| answer(app, request)));
    let refused = |error: Error| error.into_response().map(AnswerBody::Boxed);
    answered.unwrap_or(Err(Error::Generate)).unwrap_or_else(refused)
}

fn answer<B>(app: &App, request: &Request<B>) -> Result<Response<AnswerBody>, Error> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Err(Error::Method);
    }
    let mut buffer = [0; MAX_TEXT_BYTES];
    let text = parse_text(request.uri().query().unwrap_or_default().as_bytes(), &mut buffer)?;
    let tag = app.tags.of(text);
    if is_known(request.headers(), &tag) {
        return Ok(not_modified(request.method(), tag, CACHE));
    }
    let picture = generate(app, text)?;
    Ok(found(picture, tag))
}

fn generate(app: &App, text: &str) -> Result<Bytes, Error> {
    PICTURE.with_borrow_mut(|picture| {
        let start = Instant::now();
        draw(app, text, picture).map_err(|error| {
            tracing::error!(%error, "no picture for a legal text");
            Error::Generate
        })?;
        app.metrics.observe_picture(start.elapsed(), picture.len());
        Ok(Bytes::copy_from_slice(picture))
    })
}

/// Draws a picture.
pub(super) fn draw(
    app: &App,
    text: &str,
    picture: &mut Vec<u8>,
) -> Result<(), Box<dyn std::error::Error>> {
    #[cfg(feature = "faults")]
    let text = crate::faults::text_to_draw(text);
    app.engine.generate(text, picture)?;
    Ok(())
}

/// hyper adds `Content-Length`, to HEAD as well.
fn found(picture: Bytes, tag: HeaderValue) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::Whole(picture));
    let headers = response.headers_mut();
    // Room for the headers that the layers add: a map that grows hashes everything again.
    headers.reserve(6);
    headers.insert(CONTENT_TYPE, PNG);
    headers.insert(CACHE_CONTROL, CACHE);
    headers.insert(ETAG, tag);
    response
}
