//! goQR's `/v1/read-qr-code/` (goqr.me/api/doc/read-qr-code). As in goQR, a picture that cannot be read is not an HTTP
//! error: its symbol has `error` instead of `data`. A `fileurl` is never fetched, and the answer says so.

use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};

use super::super::Shared;
use super::super::bodies::FORM_BYTES;
use super::super::decode::{FORMATS_AND_GIF, MAX_SYMBOLS, decode_within};
use super::fields::{Fields, Plus, text};
use super::{goqr, uncached};
use crate::v1::fault::Refusal;
use crate::v1::options::Kind;
use crate::v1::reader::{self, GreyImage};

/// The longest file, in bytes, the same as in goQR.
const MAX_FILE_BYTES: usize = 1 << 20;

/// Answers `/v1/read-qr-code/`.
pub(super) async fn read(State(api): Shared, request: Request) -> Result<Response, Refusal> {
    let _upload = api.upload(request.headers(), MAX_FILE_BYTES + FORM_BYTES)?;
    let uri = request.uri().clone();
    let fields = match goqr::read_fields(request, MAX_FILE_BYTES + FORM_BYTES).await {
        Ok(fields) => fields,
        Err(Refusal::LongBody { .. }) => {
            return Ok(written(&Fields::of_uri(&uri, Plus::IsSpace), &[Err(TOO_BIG)]));
        }
        Err(other) => return Err(other),
    };
    let symbols = match fields.last("file") {
        Some(file) if file.len() > MAX_FILE_BYTES => vec![Err(TOO_BIG)],
        Some(file) => {
            let file = Bytes::copy_from_slice(file);
            let symbols = decode_within(&api, file, &FORMATS_AND_GIF, symbols_of).await?;
            symbols.unwrap_or_else(|_| vec![Err("filetype not supported")])
        }
        None if fields.last("fileurl").is_some() => {
            vec![Err(
                "download error (addresses are not fetched here; send the picture as file by POST)",
            )]
        }
        None => vec![Err("there is no file")],
    };
    Ok(written(&fields, &symbols))
}

const TOO_BIG: &str = "file is too big (1048576 bytes at most)";

/// The texts of the symbols on a picture, or one error if there are none.
fn symbols_of(picture: &GreyImage) -> Vec<Result<String, &'static str>> {
    let found = reader::read_picture(picture, &[Kind::Qr], MAX_SYMBOLS).found;
    if found.is_empty() {
        return vec![Err("could not find/read QR Code")];
    }
    found.into_iter().map(|found| Ok(found.text)).collect()
}

fn written(fields: &Fields, symbols: &[Result<String, &'static str>]) -> Response {
    let is_xml = fields.last("outputformat").is_some_and(|it| text(it).eq_ignore_ascii_case("xml"));
    if is_xml {
        uncached(StatusCode::OK, "text/xml; charset=utf-8", xml(symbols))
    } else {
        uncached(StatusCode::OK, "application/json", json_of(symbols).to_string())
    }
}

fn json_of(symbols: &[Result<String, &'static str>]) -> Value {
    let symbol = |(seq, symbol): (usize, &Result<String, &'static str>)| match symbol {
        Ok(data) => json!({"seq": seq, "data": data, "error": null}),
        Err(error) => json!({"seq": seq, "data": null, "error": error}),
    };
    let symbols: Vec<Value> = symbols.iter().enumerate().map(symbol).collect();
    json!([{"type": "qrcode", "symbol": symbols}])
}

fn xml(symbols: &[Result<String, &'static str>]) -> String {
    let mut out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<qrcode>".to_owned();
    for (seq, symbol) in symbols.iter().enumerate() {
        let (data, error) = match symbol {
            Ok(data) => (&**data, ""),
            Err(error) => ("", *error),
        };
        out += &format!(
            "<symbol><seq>{seq}</seq><data>{}</data><error>{}</error></symbol>",
            escape(data),
            escape(error)
        );
    }
    out + "</qrcode>\n"
}

/// Escapes XML. Characters that XML cannot have become U+FFFD.
fn escape(text: &str) -> String {
    let is_allowed = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r');
    let text: String = text
        .chars()
        .map(
            |c| if is_allowed(c) && !matches!(c, '\u{fffe}' | '\u{ffff}') { c } else { '\u{fffd}' },
        )
        .collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
