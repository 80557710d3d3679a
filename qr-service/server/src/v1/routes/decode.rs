//! `/v1/decode`: takes a picture and answers with the symbols on it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use image::ImageFormat;
use serde::Serialize;
use tokio::time::timeout;
use utoipa::ToSchema;

use super::bodies::{acceptable, read_body};
use super::qr::NO_STORE;
use super::{Api, Shared};
use crate::v1::fault::{Problem, Refusal};
use crate::v1::options::Kind;
use crate::v1::reader::{self, Found, GreyImage};
use crate::v1::upload::Upload;

/// The longest picture, in bytes: enough for photos of phones.
const MAX_BYTES: usize = 10 << 20;
/// The media types of a body.
const TYPES: &str =
    "image/png, image/jpeg, image/webp, application/octet-stream, multipart/form-data";
/// The most symbols that are read from one picture: enough for several sheets of labels.
pub(super) const MAX_SYMBOLS: usize = 256;
const FORMATS: [ImageFormat; 3] = [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP];
/// The formats of the paths of other services.
pub(super) const FORMATS_AND_GIF: [ImageFormat; 4] =
    [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP];

/// The longest wait for memory. Together with the longest wait for a worker it must stay below the write timeout, after
/// which the server closes the connection.
const ROOM_WAIT: Duration = Duration::from_secs(3);

/// A form with a picture.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes the form")]
pub(super) struct PictureForm {
    /// The picture, with a file name. The field may have any name.
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
}

/// The symbols on a picture.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Decoded {
    /// Width of the picture in pixels, after turning it as its EXIF data says.
    width: u32,
    /// Height of the picture in pixels.
    height: u32,
    /// The symbols that were read; empty if there are none.
    symbols: Vec<DecodedSymbol>,
    /// The messages that are divided over several symbols (structured append).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    messages: Vec<DividedMessage>,
    /// Whether there may be more symbols: at most 256 are read, within two seconds.
    truncated: bool,
}

/// A symbol on a picture.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DecodedSymbol {
    /// `qr`, `micro` or `rmqr`.
    kind: &'static str,
    /// The version as the standards name it: `7`, `M3`, `R11x59`.
    version: String,
    /// L, M, Q or H; `null` for Micro QR M1.
    #[schema(value_type = Option<String>)]
    level: Option<String>,
    /// The symbology identifier (ISO/IEC 15424): `]Q3` for GS1, `]Q1` for plain data, `]Q2` with an ECI.
    symbology: String,
    /// The message, decoded by its ECI, or else by the most likely encoding.
    text: String,
    /// The encoding that was guessed for the text, such as `GBK`, if the symbol declares none and it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    guessed_encoding: Option<&'static str>,
    /// The message's bytes in Base64.
    data: String,
    /// Number of this part of a message, from 1, and number of parts (structured append).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<i32>>)]
    part: Option<[i32; 2]>,
    /// The XOR of all bytes of that message, which tells its parts from those of others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u8>)]
    parity: Option<u8>,
    /// Corners in pixels, x and y: top left, top right, bottom right, bottom left of the upright symbol.
    #[schema(value_type = Vec<Vec<f64>>)]
    corners: Vec<[f64; 2]>,
}

/// A message that is divided over several symbols.
#[derive(Debug, Serialize, ToSchema)]
struct DividedMessage {
    parity: u8,
    /// Number of parts of the message.
    parts: i32,
    /// Numbers of the parts that are not on the picture.
    missing: Vec<i32>,
    /// Numbers of the parts that are there more than once with different bytes, so that nothing tells which one belongs
    /// to this message and which to another of the same parity.
    ambiguous: Vec<i32>,
    /// The whole message, if no part is missing or ambiguous.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    text: Option<String>,
    /// Its bytes in Base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    data: Option<String>,
}

impl DividedMessage {
    /// Joins the parts, which all have this parity and count.
    fn new((parity, parts): (u8, i32), found: &[&Found]) -> Self {
        // The different contents of each part.
        let mut by_number: Vec<Vec<&Found>> = vec![Vec::new(); parts.max(0) as usize];
        for part in found {
            let index = part.part.and_then(|(index, _)| usize::try_from(index).ok());
            let of_number = index.and_then(|index| by_number.get_mut(index));
            if let Some(same) = of_number.filter(|it| it.iter().all(|it| it.bytes != part.bytes)) {
                same.push(part);
            }
        }
        let with = |is_listed: fn(usize) -> bool| {
            let numbers = (1..).zip(&by_number).filter(|(_, part)| is_listed(part.len()));
            numbers.map(|(number, _)| number).collect::<Vec<i32>>()
        };
        let (missing, ambiguous) = (with(|count| count == 0), with(|count| count > 1));
        let is_whole = missing.is_empty() && ambiguous.is_empty();
        let bytes = is_whole.then(|| by_number.iter().flatten().flat_map(|it| &it.bytes).copied());
        let bytes = bytes.map(Iterator::collect::<Vec<u8>>);
        // A character may be divided between two symbols.
        let text = bytes.clone().map(|bytes| {
            let by_parts = || by_number.iter().flatten().map(|part| &*part.text).collect();
            String::from_utf8(bytes).unwrap_or_else(|_| by_parts())
        });
        let data = bytes.map(|bytes| STANDARD.encode(bytes));
        DividedMessage { parity, parts, missing, ambiguous, text, data }
    }
}

fn messages_of(found: &[Found]) -> Vec<DividedMessage> {
    let mut sets: BTreeMap<(u8, i32), Vec<&Found>> = BTreeMap::new();
    for symbol in found {
        if let (Some(parity), Some((_, count))) = (symbol.parity, symbol.part) {
            sets.entry((parity, count)).or_default().push(symbol);
        }
    }
    sets.into_iter().map(|(set, found)| DividedMessage::new(set, &found)).collect()
}

impl From<Found> for DecodedSymbol {
    fn from(found: Found) -> Self {
        DecodedSymbol {
            kind: found.kind.as_str(),
            version: found.version,
            level: (!found.level.is_empty()).then_some(found.level),
            data: STANDARD.encode(&found.bytes),
            symbology: found.symbology,
            text: found.text,
            guessed_encoding: found.guess,
            part: found.part.map(|(index, count)| [index + 1, count]),
            parity: found.parity,
            corners: found.corners.map(|(x, y)| [round(x), round(y)]).to_vec(),
        }
    }
}

/// Rounds to a tenth of a pixel.
fn round(pixels: f64) -> f64 {
    (pixels * 10.0).round() / 10.0
}

/// Answers with the symbols on a PNG, JPEG or WebP, which is the body or a file of a form. A picture may have up to 10
/// MiB and 25 million pixels; a WebP 9 million, a progressive JPEG 14 million. Symbols may be light on dark, turned,
/// tilted and blurred.
#[utoipa::path(
    post, path = "/v1/decode", operation_id = "decode", tag = "decode",
    request_body(content((Vec<u8> = "image/png"), (Vec<u8> = "image/jpeg"), (Vec<u8> = "image/webp"), (PictureForm = "multipart/form-data"))),
    responses(
        (status = 200, description = "The symbols on the picture", body = Decoded),
        (status = 400, description = "The file is not a picture, is damaged, or has too many pixels", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "The picture has too many bytes", body = Problem, content_type = "application/problem+json"),
        (status = 415, description = "Another media type", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "All workers are busy", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn post(State(api): Shared, request: Request) -> Result<Response, Refusal> {
    answer(&api, request, decoded).await
}

/// Answers with what `read` finds on the picture of a request, in JSON.
pub(super) async fn answer<T: Serialize + Send + 'static>(
    api: &Api,
    request: Request,
    read: fn(&GreyImage) -> T,
) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    // First, so that a body that is refused takes no room and is not answered 503.
    acceptable(&parts.headers, TYPES, MAX_BYTES)?;
    // Taken before the body is read, so that only a few bodies take memory at once.
    let _upload = api.upload(&parts.headers, MAX_BYTES)?;
    let (_, bytes) = read_body(&parts.headers, body, TYPES, MAX_BYTES).await?;
    let answer = decode_within(api, bytes, &FORMATS, read).await?.map_err(Refusal::Body)?;
    // Strings and numbers always serialise.
    let json = serde_json::to_vec(&answer).unwrap_or_default();
    let media = [(CONTENT_TYPE, "application/json")];
    Ok((media, [(CACHE_CONTROL, NO_STORE)], json).into_response())
}

fn decoded(picture: &GreyImage) -> Decoded {
    let kinds = [Kind::Qr, Kind::Micro, Kind::Rmqr];
    let reading = reader::read_picture(picture, &kinds, MAX_SYMBOLS);
    let messages = messages_of(&reading.found);
    let symbols = reading.found.into_iter().map(DecodedSymbol::from).collect();
    let (width, height, truncated) = (picture.width, picture.height, reading.is_truncated);
    Decoded { width, height, symbols, messages, truncated }
}

/// Decodes a picture on a worker once there is memory for it, and returns the result of `read`. The inner error is a
/// message for the client about the file. Fails with [`Refusal::Busy`] if memory or workers stay busy,
/// [`Refusal::Internal`] if `read` panics.
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
        // Held until the pixels are freed, even if the client no longer waits.
        let _room = room;
        upload.decode().map(|picture| read(&picture))
    };
    api.pool.run(job).await
}
