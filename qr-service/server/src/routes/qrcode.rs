//! `GET /qrcode?text=...`: answers with the picture, or with 304 if the client has it.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use contract::query::{MAX_TEXT_BYTES, parse_text};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG};
use http::{HeaderValue, Method};

use crate::app::App;
use crate::error::Error;
use crate::tags::{is_known, not_modified};

const CACHE: HeaderValue = HeaderValue::from_static("public, max-age=86400");
const PNG: HeaderValue = HeaderValue::from_static("image/png");

thread_local! {
    /// The buffer for drawing a picture, which is then copied. So each answer allocates once, the exact size.
    static PICTURE: RefCell<Vec<u8>> = RefCell::new(Vec::with_capacity(4096));
}

/// Answers a request of any method.
///
/// A panic fails only its own request. It is caught here, because no other code can panic on a text.
pub(super) async fn answer(
    State(app): State<&'static App>,
    request: Request,
) -> Result<Response, Error> {
    let method = request.method();
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Err(Error::Method);
    }
    let mut buffer = [0; MAX_TEXT_BYTES];
    let query = request.uri().query().unwrap_or_default();
    let text = parse_text(query.as_bytes(), &mut buffer).map_err(Error::Query)?;
    let tag = app.tags.of(text);
    if is_known(request.headers(), &tag) {
        return Ok(not_modified(tag, CACHE));
    }
    let picture = catch_unwind(AssertUnwindSafe(|| generate(app, text)));
    let picture = picture.unwrap_or(Err(Error::Generate))?;
    Ok(([(CONTENT_TYPE, PNG), (CACHE_CONTROL, CACHE), (ETAG, tag)], picture).into_response())
}

fn generate(app: &App, text: &str) -> Result<Bytes, Error> {
    #[cfg(feature = "faults")]
    let text = crate::faults::text_to_draw(text);
    PICTURE.with_borrow_mut(|picture| {
        let start = Instant::now();
        app.engine.generate(text, picture).map_err(|error| {
            tracing::error!(%error, "cannot draw a valid text");
            Error::Generate
        })?;
        app.metrics.observe_picture(start.elapsed(), picture.len());
        Ok(Bytes::copy_from_slice(picture))
    })
}
