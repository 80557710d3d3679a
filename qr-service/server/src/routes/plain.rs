//! `GET /qrcode?text=...` once more, for [`service_kit::Shortcut`]: nearly all requests, in a tenth of the
//! instructions that hyper, the layers and [`super::qrcode`] take around the picture. Only an answer with a picture
//! is written here, the same to the byte; all others are theirs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use http::StatusCode;
use qr_query::{MAX_TEXT_BYTES, parse_text};
use service_kit::{Plain, end_answer};

use super::qrcode::{PICTURE, draw};
use crate::app::App;
use crate::layers::{is_request_id, new_request_id};
use crate::metrics::{MethodLabel, Route};

/// Writes the answer, or `None` if hyper has to.
pub(super) fn answer(app: &App, request: &Plain<'_>, answer: &mut Vec<u8>) -> Option<()> {
    let start = Instant::now();
    let query = request.target().strip_prefix("/qrcode?")?;
    // http's parser of URLs refuses some other bytes, and takes `#` for the end. All are looked at, without a
    // branch, so that the processor does it many at a time.
    let is_ordinary = query.bytes().fold(true, |all, byte| all & is_ordinary(byte));
    let is_conditional = request.header("if-none-match").is_some();
    if !is_ordinary || is_conditional || app.access_log.logs(StatusCode::OK) {
        return None;
    }
    let mut buffer = [0; MAX_TEXT_BYTES];
    let text = parse_text(query.as_bytes(), &mut buffer).ok()?;
    let made;
    let id = match request.header("x-request-id").filter(|id| is_request_id(id)) {
        Some(id) => id,
        None => {
            made = new_request_id();
            &made
        }
    };
    let draw = || {
        PICTURE.with_borrow_mut(|picture| {
            let drawn = draw(app, text, picture).ok()?;
            write_head(answer, app.tags.digits_of(text), id);
            end_answer(answer, picture, drawn);
            Some(drawn)
        })
    };
    // What fails or panics here does so again on the other way, which logs it and answers.
    let drawn = catch_unwind(AssertUnwindSafe(draw)).ok()??;
    let answered = (Route::Qrcode, MethodLabel::Get, StatusCode::OK);
    app.metrics.observe_request(answered, id, drawn - start);
    Some(())
}

/// Whether it may stand in a query, RFC 3986 section 3.4.
fn is_ordinary(byte: u8) -> bool {
    const OTHERS: &[u8; 12] = b"\"#<>[\\]^`{|}";
    OTHERS.iter().fold((byte > b' ') & (byte < 0x7f), |may, &other| may & (byte != other))
}

/// The status line, and all headers that hyper does not add.
fn write_head(answer: &mut Vec<u8>, tag: [u8; 16], id: &[u8]) {
    answer.extend_from_slice(
        b"HTTP/1.1 200 OK\r\ncontent-type: image/png\r\n\
          cache-control: public, max-age=86400\r\netag: \"",
    );
    answer.extend_from_slice(&tag);
    answer.extend_from_slice(b"\"\r\nx-request-id: ");
    answer.extend_from_slice(id);
    answer.extend_from_slice(b"\r\nx-served-by: qr-service\r\nx-content-type-options: nosniff\r\n");
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
