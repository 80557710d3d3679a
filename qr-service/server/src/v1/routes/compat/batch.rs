//! QuickChart's `/qr/batch`: takes JSON and answers with a ZIP of all codes. If any code is wrong, the answer is 400
//! and `{"success": false, "error": "qrCodes[0]: Error: ..."}` for the first wrong one.

use std::collections::HashSet;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use http::header::CONTENT_DISPOSITION;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::Shared;
use super::super::bodies::{in_time, read_whole};
use super::super::many::MAX_TIME;
use super::drawing::wrong;
use super::fields::{Fields, text};
use super::quickchart::{MOST_SIZE_PX, line_of, of_json, read, size_px};
use super::uncached;
use crate::v1::archive::Archive;
use crate::v1::fault::{Fault, Refusal};
use crate::v1::headers::disposition;
use crate::v1::items::{MAX_ITEMS, Members};

const MAX_PIXELS: i64 = 450_000_000;
/// The most pixels of all JPEGs, which take longer than the other formats.
const MAX_JPEG_PIXELS: i64 = 45_000_000;
/// The most bytes of a request, enough for a thousand texts of a kilobyte.
const MAX_BODY_BYTES: usize = 1 << 20;
/// The most bytes of an archive, which is made in memory.
const MAX_ARCHIVE_BYTES: usize = 16 << 20;
/// The share of the room for uploads that one request takes: four requests take all of it.
const ROOM_KIB: u32 = 4 << 10;

/// Answers `/qr/batch`.
pub(super) async fn answer(State(api): Shared, request: Request) -> Result<Response, Refusal> {
    let body = request.into_body();
    // Like uploaded pictures, only a few batches may take memory at once.
    let _place = api.uploads.try_acquire_many(ROOM_KIB).map_err(|_| Refusal::Busy)?;
    let body = in_time(read_whole(body, MAX_BODY_BYTES)).await?;
    let (codes, filename) = match api.pool.run(move || codes_of(&body)).await? {
        Ok(batch) => batch,
        Err(error) => return Ok(refuse(&error)),
    };
    let (mut archive, mut bytes) = (Archive::default(), Vec::new());
    let (mut names, count, begun) = (HashSet::new(), codes.len(), Instant::now());
    for (index, code) in codes.into_iter().enumerate() {
        if begun.elapsed() > MAX_TIME {
            let made = format!("qrCodes: {index} of {count} codes were made in {MAX_TIME:?}");
            return Ok(refuse(&format!("{made}; send fewer at once")));
        }
        let name = name_of(&code, index, &mut names);
        let drawn = api.pool.run(move || {
            if code.first("format") == Some(b"base64") {
                return Err(wrong("format", "use png, svg or jpg"));
            }
            read(&code)?.draw()
        });
        match drawn.await? {
            Ok(picture) => bytes.extend(archive.add(&name, &picture)),
            Err(wrong) => return Ok(refuse(&error_of(index, &wrong))),
        }
        if bytes.len() > MAX_ARCHIVE_BYTES {
            return Ok(refuse(&format!("the archive is above {MAX_ARCHIVE_BYTES} bytes")));
        }
    }
    bytes.extend(archive.finish());
    let mut response = uncached(StatusCode::OK, "application/zip", bytes);
    let named = disposition(&filename).map(|value| (CONTENT_DISPOSITION, value));
    response.headers_mut().extend(named);
    Ok(response)
}

fn refuse(error: &str) -> Response {
    let body = json!({"success": false, "error": error}).to_string();
    uncached(StatusCode::BAD_REQUEST, "application/json", body)
}

fn error_of(index: usize, wrong: &Fault) -> String {
    // QuickChart's own message has no parameter name in front.
    let line = match wrong.detail.starts_with("You are missing") {
        true => wrong.detail.to_string(),
        false => line_of(wrong),
    };
    format!("qrCodes[{index}]: Error: {line}")
}

/// A request, apart from those that are only an array of codes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Batch {
    qr_codes: Members<Map<String, Value>>,
    zip_filename: Option<Value>,
}

/// The codes of a request and the archive's name.
fn codes_of(body: &[u8]) -> Result<(Vec<Fields>, String), String> {
    let (begin, is_data) = (body.trim_ascii_start().first(), serde_json::Error::is_data);
    let batch = match begin {
        Some(b'[') => {
            serde_json::from_slice(body).map(|qr_codes| Batch { qr_codes, zip_filename: None })
        }
        _ => serde_json::from_slice(body),
    };
    let batch = batch.map_err(|error| match begin {
        Some(b'[') if is_data(&error) => "qrCodes: every code must be an object",
        Some(b'{') if is_data(&error) => {
            "qrCodes: an array of codes is required, which are objects"
        }
        _ if is_data(&error) => "send an array of codes, or an object with qrCodes",
        _ => "the body is not JSON",
    });
    let Batch { qr_codes: Members(objects), zip_filename } = batch.map_err(str::to_owned)?;
    if !(1..=MAX_ITEMS).contains(&objects.len()) {
        return Err(format!("qrCodes: use 1 to {MAX_ITEMS} codes"));
    }
    let codes: Vec<Fields> = objects.iter().map(of_json).collect();
    check_pixels(&codes)?;
    let filename = zip_filename.as_ref().and_then(Value::as_str).map(clean).unwrap_or_default();
    let filename = if filename.is_empty() { "qr-codes.zip".to_owned() } else { filename };
    Ok((codes, filename))
}

fn check_pixels(codes: &[Fields]) -> Result<(), String> {
    let pixels = |code: &Fields| size_px(code).clamp(0, MOST_SIZE_PX).pow(2);
    let all: i64 = codes.iter().map(pixels).sum();
    let jpeg: i64 = codes.iter().filter(|code| extension(code) == "jpg").map(pixels).sum();
    for (sum, most, what) in [(all, MAX_PIXELS, "all codes"), (jpeg, MAX_JPEG_PIXELS, "all JPEGs")]
    {
        if sum > most {
            return Err(format!("qrCodes: {what} have {sum} pixels, above {most}"));
        }
    }
    Ok(())
}

fn extension(code: &Fields) -> &'static str {
    match code.first("format").map(text) {
        Some("svg") => "svg",
        Some("jpg" | "jpeg") => "jpg",
        _ => "png",
    }
}

/// A file name that is unique in the archive.
fn name_of(code: &Fields, index: usize, names: &mut HashSet<String>) -> String {
    let extension = extension(code);
    let given = code.first("filename").map(|name| clean(text(name))).unwrap_or_default();
    let stem = given.strip_suffix(&format!(".{extension}")).unwrap_or(&given).to_owned();
    let stem = if stem.is_empty() { format!("qr-{}", index + 1) } else { stem };
    let mut name = format!("{stem}.{extension}");
    let mut number = 2;
    // Some systems ignore the case of file names.
    while !names.insert(name.to_lowercase()) {
        name = format!("{stem}-{number}.{extension}");
        number += 1;
    }
    name
}

/// A file name without folders and control characters, of at most 100 characters.
fn clean(name: &str) -> String {
    let is_allowed = |c: &char| !c.is_control() && !"/\\\":*?<>|".contains(*c);
    let name: String = name.chars().filter(is_allowed).take(100).collect();
    name.trim_matches(['.', ' ']).to_owned()
}
