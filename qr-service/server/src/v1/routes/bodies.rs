//! Reads the bodies of requests, within limits of size and time.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use multer::{Constraints, Multipart, SizeLimit};
use serde_json::{Map, Value};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::block_in_place;

use crate::v1::fault::{Fault, Refusal};
use crate::v1::logo;
use crate::v1::options::Logo;
use crate::v1::parameters::{MAX_PARAMETERS, Schema, read_json, read_pairs, read_query};

/// Longest time for a body to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest JSON body without a logo: six times the data of the largest symbol in Base64, for escapes.
const SHORT_BYTES: usize = 65_536;
/// The longest body of options, with a logo in Base64.
pub(super) const MAX_OPTIONS_BYTES: usize = logo::MAX_BYTES / 3 * 4 + SHORT_BYTES;
/// The most long bodies that are received at once, which take 3.5 MB together, and the longest wait for a place.
static LONG_BODIES: Semaphore = Semaphore::const_new(8);
const MAX_WAIT: Duration = Duration::from_secs(5);
/// The most bytes of a form in addition to its file.
pub(super) const FORM_BYTES: usize = 16_384;
const FORM: &str = "multipart/form-data";
const JSON: &str = "application/json";
const JSON_OR_FORM: &str =
    "application/json, application/x-www-form-urlencoded, multipart/form-data";

/// Returns the media type of a body that is to be read by [`read_body`], and the most bytes that it may have. Fails if
/// the headers announce another type or more bytes.
pub(super) fn acceptable(
    headers: &HeaderMap,
    allowed: &'static str,
    limit: usize,
) -> Result<(&'static str, usize), Refusal> {
    let (_, media) = media_of(headers);
    let known = allowed.split(", ").find(|allowed| allowed.eq_ignore_ascii_case(media));
    let media = known.ok_or(Refusal::MediaType(allowed))?;
    let most = if media == FORM { limit + FORM_BYTES } else { limit };
    match announced(headers) {
        Some(bytes) if bytes > most => Err(Refusal::LongBody { limit }),
        _ => Ok((media, most)),
    }
}

/// Reads a body whose media type is in `allowed`, a list with commas. Returns its media type and content. For
/// `multipart/form-data` the content is the first file of the form, whatever its field is called. Fails if the body has
/// another type or more than `limit` bytes, is slow, or is cut off.
pub(super) async fn read_body(
    headers: &HeaderMap,
    body: Body,
    allowed: &'static str,
    limit: usize,
) -> Result<(&'static str, Bytes), Refusal> {
    let (media, most) = acceptable(headers, allowed, limit)?;
    if media != FORM {
        return Ok((media, in_time(read_whole(body, limit)).await?));
    }
    let (content_type, _) = media_of(headers);
    let fields = in_time(read_form(content_type, body, limit, most)).await?;
    let file = fields.into_iter().find(|field| field.is_file);
    let file = file.ok_or_else(|| Refusal::Body("the form has no file".to_owned()))?;
    Ok((media, file.bytes))
}

/// Reads options from a JSON object or a form of either type. In a form, a file in the field `logo` is the logo. Fails
/// if the body has another type, is too long, slow, or cut off, or if too many long bodies are being received.
pub(super) async fn read_options(
    headers: &HeaderMap,
    body: Body,
    schemas: &[&Schema],
    faults: &mut Vec<Fault>,
) -> Result<Map<String, Value>, Refusal> {
    let (media, most) = acceptable(headers, JSON_OR_FORM, MAX_OPTIONS_BYTES)?;
    let _place = place_for_long(headers).await?;
    if media != FORM {
        let body = in_time(read_whole(body, most)).await?;
        // curl declares JSON as a form unless it is told otherwise.
        if media == JSON || body.trim_ascii_start().starts_with(b"{") {
            // Long bodies take milliseconds, in which no other request must wait for this thread.
            let mut read = || read_json(&body, schemas, faults).map_err(Refusal::Body);
            return if body.len() > SHORT_BYTES { block_in_place(read) } else { read() };
        }
        let form = std::str::from_utf8(&body);
        let form = form.map_err(|_| Refusal::Body("the form is not UTF-8".to_owned()))?;
        // Browsers send fields that were left empty; these count as not given.
        let is_filled =
            |pair: &&str| pair.split_once('=').is_none_or(|(_, value)| !value.is_empty());
        let filled: Vec<&str> = form.trim_end().split('&').filter(is_filled).collect();
        return Ok(read_query(&filled.join("&"), schemas, faults));
    }
    let (content_type, _) = media_of(headers);
    let fields = in_time(read_form(content_type, body, MAX_OPTIONS_BYTES, most)).await?;
    if fields.len() > MAX_PARAMETERS {
        return Err(Refusal::Body(format!("the form has more than {MAX_PARAMETERS} fields")));
    }
    // Browsers send fields that were left empty or have no file chosen; these count as not given.
    let given = fields.into_iter().filter(|field| !field.bytes.is_empty());
    let pairs: Result<Vec<_>, Refusal> = given.map(pair_of).collect();
    Ok(read_pairs(pairs?, schemas, faults))
}

/// Name and value of a field; a file becomes a `data:` URI.
fn pair_of(field: Field) -> Result<(String, String), Refusal> {
    if field.is_file {
        return Ok((field.name, Logo::uri_of(&field.bytes)));
    }
    let text = String::from_utf8(field.bytes.into());
    let text = text.map_err(|_| Refusal::Body("a field of the form is not UTF-8".to_owned()));
    Ok((field.name, text?))
}

/// The whole `Content-Type`, and its media type.
fn media_of(headers: &HeaderMap) -> (&str, &str) {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default();
    let media = content_type.split(';').next().unwrap_or_default().trim();
    // `image/jpg` is not registered, but many clients send it.
    (content_type, if media.eq_ignore_ascii_case("image/jpg") { "image/jpeg" } else { media })
}

/// The length that `Content-Length` announces, if there is one.
pub(super) fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse().ok())
}

/// Waits for one of the few places for long bodies. Short bodies need none. Fails with [`Refusal::Busy`] if no place
/// becomes free.
pub(super) async fn place_for_long(
    headers: &HeaderMap,
) -> Result<Option<SemaphorePermit<'static>>, Refusal> {
    if announced(headers).is_some_and(|bytes| bytes <= SHORT_BYTES) {
        return Ok(None);
    }
    let place = tokio::time::timeout(MAX_WAIT, LONG_BODIES.acquire()).await;
    place.map_err(|_| Refusal::Busy)?.map(Some).map_err(|_| Refusal::Internal)
}

/// A field of a form.
pub(super) struct Field {
    pub(super) name: String,
    pub(super) is_file: bool,
    pub(super) bytes: Bytes,
}

/// Reads the fields of a form in their order: each has up to `limit` bytes, the whole form with all headers up to
/// `most`. Fails if it is too long, damaged or cut off.
pub(super) async fn read_form(
    content_type: &str,
    body: Body,
    limit: usize,
    most: usize,
) -> Result<Vec<Field>, Refusal> {
    let refuse = |error| match error {
        multer::Error::FieldSizeExceeded { .. } | multer::Error::StreamSizeExceeded { .. } => {
            Refusal::LongBody { limit }
        }
        _ => Refusal::Body("the form is damaged or cut off".to_owned()),
    };
    let boundary = multer::parse_boundary(content_type).map_err(refuse)?;
    let sizes = SizeLimit::new().whole_stream(most as u64).per_field(limit as u64);
    let constraints = Constraints::new().size_limit(sizes);
    let mut form = Multipart::with_constraints(body.into_data_stream(), boundary, constraints);
    let mut fields = Vec::new();
    while let Some(field) = form.next_field().await.map_err(refuse)? {
        let (name, is_file) = (field.name().unwrap_or_default(), field.file_name().is_some());
        let name = name.to_owned();
        fields.push(Field { name, is_file, bytes: field.bytes().await.map_err(refuse)? });
    }
    Ok(fields)
}

pub(super) async fn in_time<T>(
    read: impl Future<Output = Result<T, Refusal>>,
) -> Result<T, Refusal> {
    tokio::time::timeout(BODY_TIMEOUT, read).await.unwrap_or(Err(Refusal::SlowBody))
}

pub(super) async fn read_whole(body: Body, limit: usize) -> Result<Bytes, Refusal> {
    to_bytes(body, limit).await.map_err(|error| {
        match error.into_inner().downcast::<http_body_util::LengthLimitError>() {
            Ok(_) => Refusal::LongBody { limit },
            Err(_) => Refusal::Body("the body was cut off".to_owned()),
        }
    })
}
