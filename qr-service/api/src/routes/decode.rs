//! `/v1/decode`: a picture in, the symbols on it out.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method};
use image::ImageFormat;
use serde::Serialize;
use tokio::time::timeout;
use utoipa::ToSchema;

use super::Api;
use super::bodies::read_body;
use super::qr::NO_STORE;
use crate::fault::{Problem, Refusal};
use crate::options::Kind;
use crate::reader::{self, Found, GreyImage};
use crate::upload::Upload;

/// The longest picture, in bytes.
pub(super) const MAX_BYTES: usize = 4 << 20;
/// The most symbols that are read from one picture.
pub(super) const MAX_SYMBOLS: usize = 32;
const FORMATS: [ImageFormat; 3] = [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP];
/// The formats that other services read.
pub(super) const FORMATS_AND_GIF: [ImageFormat; 4] =
    [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP];

/// The longest wait for memory. With the longest wait for a worker after it, the client is answered before the server
/// takes it for a slow one.
const ROOM_WAIT: Duration = Duration::from_secs(3);

/// A form with a picture.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes the form")]
struct PictureForm {
    /// The picture, with a file name. A form may call the field otherwise.
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
}

/// What is on a picture.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Decoded {
    /// Width of the picture in pixels.
    width: u32,
    /// Its height.
    height: u32,
    /// The symbols that were read, none if there is nothing to read.
    symbols: Vec<DecodedSymbol>,
}

/// A symbol on a picture.
#[derive(Debug, Serialize, ToSchema)]
struct DecodedSymbol {
    /// `qr`, `micro` or `rmqr`.
    kind: &'static str,
    /// The version as the standards name it: `7`, `M3`, `R11x59`.
    version: String,
    /// L, M, Q or H; `null` for Micro QR M1.
    #[schema(value_type = Option<String>)]
    level: Option<String>,
    /// The message, by its ECI or as it most likely was meant.
    text: String,
    /// The message's bytes in Base64.
    data: String,
    /// Which part of a message it is, counted from 1, and of how many (structured append).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<i32>>)]
    part: Option<[i32; 2]>,
    /// Its corners in pixels, x and y: top left, top right, bottom right, bottom left of the upright symbol.
    #[schema(value_type = Vec<Vec<f64>>)]
    corners: Vec<[f64; 2]>,
}

impl From<Found> for DecodedSymbol {
    fn from(found: Found) -> Self {
        DecodedSymbol {
            kind: found.kind.as_str(),
            version: found.version,
            level: (!found.level.is_empty()).then_some(found.level),
            data: STANDARD.encode(&found.bytes),
            text: found.text,
            part: found.part.map(|(index, count)| [index + 1, count]),
            corners: found.corners.into_iter().map(|(x, y)| [round(x), round(y)]).collect(),
        }
    }
}

/// To a tenth of a pixel.
fn round(pixels: f64) -> f64 {
    (pixels * 10.0).round() / 10.0
}

/// Answers with the symbols of a PNG, JPEG or WebP, sent as it is or as the file of a form.
#[utoipa::path(
    post, path = "/v1/decode", operation_id = "decode", tag = "decode",
    request_body(content((Vec<u8> = "image/png"), (Vec<u8> = "image/jpeg"), (Vec<u8> = "image/webp"), (PictureForm = "multipart/form-data"))),
    responses(
        (status = 200, description = "The symbols on the picture", body = Decoded),
        (status = 400, description = "It is no picture", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "It has too many bytes", body = Problem, content_type = "application/problem+json"),
        (status = 415, description = "Another media type", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "All workers are busy", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn post(
    State(api): State<Arc<Api>>,
    request: Request,
) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    if parts.method != Method::POST {
        return Err(Refusal::Method("POST"));
    }
    // Before the body is read, so that few of them take memory at once.
    let _upload = api.uploads.try_acquire().map_err(|_| Refusal::Busy)?;
    let types = "image/png, image/jpeg, image/webp, application/octet-stream, multipart/form-data";
    let (_, bytes) = read_body(&parts.headers, body, types, MAX_BYTES).await?;
    let decoded = decode_within(&api, bytes, &FORMATS, decoded).await?.map_err(Refusal::Body)?;
    // Strings and numbers always serialise.
    let mut response = Response::new(serde_json::to_vec(&decoded).unwrap_or_default().into());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, NO_STORE);
    Ok(response)
}

fn decoded(picture: &GreyImage) -> Decoded {
    let found = reader::read(picture, &[Kind::Qr, Kind::Micro, Kind::Rmqr], MAX_SYMBOLS);
    let symbols = found.into_iter().map(DecodedSymbol::from).collect();
    Decoded { width: picture.width, height: picture.height, symbols }
}

/// Decodes a picture on a worker, once there is memory for it, and has it read; or says what is wrong with it.
///
/// # Errors
/// If all workers are busy.
pub(super) async fn decode_within<T: Send + 'static>(
    api: &Api,
    file: Bytes,
    formats: &'static [ImageFormat],
    read: impl FnOnce(&GreyImage) -> T + Send + 'static,
) -> Result<Result<T, String>, Refusal> {
    let upload = match Upload::open(file, formats) {
        Ok(upload) => upload,
        Err(detail) => return Ok(Err(detail)),
    };
    let kib = u32::try_from(upload.bytes().div_ceil(1024)).map_err(|_| Refusal::Internal)?;
    let room = Arc::clone(&api.decoding).acquire_many_owned(kib);
    let room = timeout(ROOM_WAIT, room).await.map_err(|_| Refusal::Busy)?;
    let job = move || {
        // Until the pixels are gone, whether or not somebody waits for the answer.
        let _room = room;
        upload.decode().map(|picture| read(&picture))
    };
    api.pool.run(job).await
}
