//! `GET /qrcode?text=...` and `GET /v1/qr?...` once more, for [`service_kit::Shortcut`]: nearly all requests, in a
//! tenth of the instructions that hyper, the layers and the routes take around the picture. Only an answer with a
//! picture is written here, the same to the byte; all others are theirs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use http::StatusCode;
use qr_query::{MAX_TEXT_BYTES, parse_text};
use service_kit::{Plain, end_answer, write_number};

use super::qrcode::{PICTURE, draw};
use crate::app::App;
use crate::layers::{is_request_id, new_request_id};
use crate::metrics::{MethodLabel, Route};

/// The routes below `/v1/`, of which a build without them has none.
#[cfg(feature = "api")]
pub(crate) type Others = qr_api::PlainRoutes;
#[cfg(not(feature = "api"))]
pub(crate) type Others = ();

/// Writes the answer and returns when it was made, or `None` if hyper has to.
pub(super) fn answer(
    app: &App,
    others: &Others,
    (request, began): (&Plain<'_>, Instant),
    answer: &mut Vec<u8>,
) -> Option<Instant> {
    let (path, query) = request.target().split_once('?')?;
    // http's parser of URLs refuses some other bytes, and takes `#` for the end. All are looked at, without a
    // branch, so that the processor does it many at a time.
    let is_ordinary = query.bytes().fold(true, |all, byte| all & is_ordinary(byte));
    let is_conditional = request.header("if-none-match").is_some();
    if !is_ordinary || is_conditional || app.access_log.logs(StatusCode::OK) {
        return None;
    }
    let made;
    let id = match request.header("x-request-id").filter(|id| is_request_id(id)) {
        Some(id) => id,
        None => {
            made = new_request_id();
            &made
        }
    };
    let write = || match Route::of(path) {
        Route::Qrcode => write_qrcode(app, query, id, answer)
            .map(|(drawn, bytes)| (Route::Qrcode, drawn, Some(bytes))),
        #[cfg(feature = "api")]
        Route::Api => {
            write_other(others, request, id, answer).map(|drawn| (Route::Api, drawn, None))
        }
        Route::Unmatched => None,
    };
    // What fails or panics here does so again on the other way, which logs it and answers.
    let (route, drawn, picture) = catch_unwind(AssertUnwindSafe(write)).ok()??;
    let answered = (route, MethodLabel::Get, StatusCode::OK);
    app.metrics.observe_both(answered, id, drawn - began, picture);
    Some(drawn)
}

/// Writes the picture of a text; returns when it was drawn, and its bytes.
fn write_qrcode(
    app: &App,
    query: &str,
    id: &[u8],
    answer: &mut Vec<u8>,
) -> Option<(Instant, usize)> {
    let mut buffer = [0; MAX_TEXT_BYTES];
    let text = parse_text(query.as_bytes(), &mut buffer).ok()?;
    PICTURE.with_borrow_mut(|picture| {
        draw(app, text, picture).ok()?;
        let drawn = Instant::now();
        answer.extend_from_slice(OK);
        answer.extend_from_slice(
            b"content-type: image/png\r\ncache-control: public, max-age=86400\r\netag: \"",
        );
        answer.extend_from_slice(&app.tags.digits_of(text));
        answer.extend_from_slice(b"\"\r\n");
        write_layers(answer, id);
        answer.extend_from_slice(b"content-length: ");
        write_number(answer, picture.len());
        answer.extend_from_slice(b"\r\n");
        end_answer(answer, picture, drawn);
        Some((drawn, picture.len()))
    })
}

/// Writes an answer of the routes below `/v1/`, whose own headers have the length.
#[cfg(feature = "api")]
fn write_other(
    others: &Others,
    request: &Plain<'_>,
    id: &[u8],
    answer: &mut Vec<u8>,
) -> Option<Instant> {
    answer.extend_from_slice(OK);
    let picture = others.answer(request, answer)?;
    let drawn = Instant::now();
    write_layers(answer, id);
    end_answer(answer, &picture, drawn);
    Some(drawn)
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\n";

/// Writes the headers that the layers add.
fn write_layers(answer: &mut Vec<u8>, id: &[u8]) {
    answer.extend_from_slice(b"x-request-id: ");
    answer.extend_from_slice(id);
    answer.extend_from_slice(b"\r\nx-served-by: qr-service\r\nx-content-type-options: nosniff\r\n");
}

/// Whether it may stand in a query, RFC 3986 section 3.4.
fn is_ordinary(byte: u8) -> bool {
    const OTHERS: &[u8; 12] = b"\"#<>[\\]^`{|}";
    OTHERS.iter().fold((byte > b' ') & (byte < 0x7f), |may, &other| may & (byte != other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_unreserved_characters_delimiters_and_escapes() {
        let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        for byte in 0..=255 {
            let may = is_unreserved(byte) || b"!$&'()*+,;=:@/?%".contains(&byte);
            assert_eq!(is_ordinary(byte), may, "{byte}");
        }
    }
}
