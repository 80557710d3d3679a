//! QuickChart's `/qr-read`: takes a picture in Base64 and answers with `{"result": TEXT}`.
//!
//! For a picture that cannot be read, the answer has `error` instead, in QuickChart's words. QuickChart sends it with
//! status 500; here it is 400, because alerts and gates would take a 500 for a failure of the service. No URL is
//! fetched.

use axum::extract::{Request, State};
use axum::response::Response;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::Shared;
use super::super::bodies::{in_time, read_whole};
use super::super::decode::{FORMATS_AND_GIF, decode_within};
use super::fields::{Fields, Plus};
use super::quickchart::of_json;
use super::uncached;
use crate::v1::fault::Refusal;
use crate::v1::options::{Bytes, Kind, Logo};
use crate::v1::reader::{self, GreyImage};

/// The longest picture, in bytes.
const MAX_FILE_BYTES: usize = 4 << 20;
/// The longest body: such a picture in Base64.
const MAX_BODY_BYTES: usize = MAX_FILE_BYTES / 3 * 4 + 1024;

const NOTHING: &str = "Please provide either a URL or base64 encoded image";
const NOT_FETCHED: &str = "Could not fetch the image at that URL: addresses are not fetched here; \
    send the picture in Base64 as image by POST";
const NO_PICTURE: &str =
    "Could not decode that image. Supported formats are PNG, JPEG, WebP, and GIF.";
const NO_CODE: &str = "No QR code was found in that image.";

/// Answers `/qr-read`.
pub(super) async fn read(State(api): Shared, request: Request) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let _upload = api.upload(&parts.headers, MAX_BODY_BYTES)?;
    let fields = match parts.method {
        Method::GET | Method::HEAD => Fields::of_uri(&parts.uri, Plus::Stays),
        Method::POST => {
            let bytes = in_time(read_whole(body, MAX_BODY_BYTES)).await?;
            match serde_json::from_slice(&bytes) {
                Ok(Value::Object(fields)) => of_json(&fields),
                _ => Fields::default(),
            }
        }
        _ => return Err(Refusal::Method("GET, HEAD, POST")),
    };
    let found = match file_of(&fields) {
        Ok(file) => {
            let read = decode_within(&api, file.into(), &FORMATS_AND_GIF, text_of).await?;
            read.unwrap_or(Err(NO_PICTURE))
        }
        Err(error) => Err(error),
    };
    let (status, body) = match found {
        Ok(text) => (StatusCode::OK, json!({"result": text})),
        Err(error) => (StatusCode::BAD_REQUEST, json!({"error": error})),
    };
    Ok(uncached(status, "application/json", body.to_string()))
}

/// The picture's file. As in QuickChart, `url` takes precedence over `image`.
fn file_of(fields: &Fields) -> Result<Vec<u8>, &'static str> {
    match (fields.given("url"), fields.given("image")) {
        (Some(url), _) => {
            let file = Logo::deserialize(Value::from(url)).map_err(|_| NOT_FETCHED)?;
            Ok(file.0.to_vec())
        }
        (None, Some(image)) => {
            let file = Bytes::deserialize(Value::from(image)).map_err(|_| NO_PICTURE)?;
            Ok(file.0)
        }
        (None, None) => Err(NOTHING),
    }
}

fn text_of(picture: &GreyImage) -> Result<String, &'static str> {
    let found = reader::read_picture(picture, &[Kind::Qr], 1).found;
    found.into_iter().next().map(|found| found.text).ok_or(NO_CODE)
}
