//! QuickChart's `/qr` (quickchart.io/documentation/qr-codes). A wrong request gets 400, a picture of a cross,
//! and the reason in `X-quickchart-error`, since the answer is most often shown by an `<img>`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde_json::Value;

use super::super::Api;
use super::super::bodies::{in_time, read_whole};
use super::asked::{Asked, Plus, text};
use super::drawing::{MAX_SIZE_PX, Picture, Wrong, draw};
use super::raster::{PixelFormat, Place, cross};
use super::{Client, MAX_BODY_BYTES, with_body};
use crate::fault::Refusal;
use crate::options::{Ink, LevelName, Mode, Options};

/// Our parameters, and theirs.
pub(super) const NAMES: [(&str, &str); 3] =
    [("level", "ecLevel"), ("scale", "size"), ("version_max", "text")];

const ERROR: HeaderName = HeaderName::from_static("x-quickchart-error");
const IGNORED: HeaderName = HeaderName::from_static("x-qr-ignored");

const DEFAULT_SIZE_PX: i64 = 150;
pub(super) const MOST_SIZE_PX: i64 = 3000;
/// Modules of a picture whose size is too small are drawn with so many pixels.
const FALLBACK_SCALE: u32 = 4;
/// The widest margin, in modules.
const MOST_MARGIN: i64 = 100;

/// What only changes looks, and is left out here; the answer lists those that were given.
const LOOKS: [&str; 4] = ["dotStyle", "finderStyle", "finderDotStyle", "finderColor"];
/// What would be missing on the picture.
const CONTENT: [&str; 2] = ["centerImageUrl", "caption"];

/// Answers `/qr`.
pub(super) async fn answer(State(api): State<Arc<Api>>, request: Request) -> Response {
    make(&api, request).await.unwrap_or_else(IntoResponse::into_response)
}

async fn make(api: &Api, request: Request) -> Result<Response, Refusal> {
    let client = Client::of(&request);
    let (parts, body) = request.into_parts();
    let asked = match parts.method {
        Method::GET | Method::HEAD => {
            Asked::of_query(parts.uri.query().unwrap_or_default().as_bytes(), Plus::Stays)
        }
        Method::POST => {
            let bytes = in_time(read_whole(body, MAX_BODY_BYTES)).await?;
            match serde_json::from_slice(&bytes) {
                Ok(Value::Object(fields)) => of_json(&fields),
                _ => return Ok(refuse(&Wrong::new("body", "it is not a JSON object"))),
            }
        }
        _ => return Err(Refusal::Method("GET, HEAD, POST")),
    };
    let ignored = LOOKS.into_iter().filter(|name| asked.first(name).is_some()).collect::<Vec<_>>();
    let made = api.pool.run(move || {
        let (options, picture) = read(&asked)?;
        Ok::<_, Wrong>((picture.content_type(), draw(&options, &picture)?))
    });
    let (media, picture) = match made.await? {
        Ok(made) => made,
        Err(wrong) => return Ok(refuse(&wrong)),
    };
    let mut response = client.answer(media, picture, "public, max-age=604800");
    let headers = response.headers_mut();
    if media == "image/svg+xml" {
        let policy = HeaderValue::from_static("default-src 'none'; sandbox");
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    insert(headers, IGNORED, &ignored.join(", "));
    Ok(response)
}

/// Inserts a header unless its value is empty or none.
fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let (false, Ok(value)) = (value.is_empty(), HeaderValue::from_str(value)) {
        headers.insert(name, value);
    }
}

fn refuse(wrong: &Wrong) -> Response {
    let mut response = with_body(StatusCode::BAD_REQUEST, "image/png", cross());
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    insert(headers, ERROR, &wrong.line(&NAMES));
    response
}

/// The fields of a JSON object; those that are neither text, number nor truth value are left out.
pub(super) fn of_json(fields: &serde_json::Map<String, Value>) -> Asked {
    let mut asked = Asked::default();
    for (name, value) in fields {
        match value {
            Value::String(text) => asked.push(name, text.as_bytes()),
            Value::Number(_) | Value::Bool(_) => asked.push(name, value.to_string()),
            _ => {}
        }
    }
    asked
}

/// The side of a picture in pixels that a request asks for.
pub(super) fn size_px(asked: &Asked) -> i64 {
    match asked.first("size").and_then(|size| leading_number(text(size))) {
        None | Some(0) => DEFAULT_SIZE_PX,
        Some(size) => size.min(MOST_SIZE_PX),
    }
}

/// As `parseInt` reads it: digits at the beginning, after a sign.
fn leading_number(value: &str) -> Option<i64> {
    let value = value.trim_start();
    let digits = value.strip_prefix(['-', '+']).unwrap_or(value);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let number: i64 = digits.get(..end.min(15))?.parse().ok()?;
    Some(if value.starts_with('-') { -number } else { number })
}

pub(super) fn read(asked: &Asked) -> Result<(Options, Picture), Wrong> {
    let of = |name: &str| asked.first(name).filter(|value| !value.is_empty());
    let value = of("text").ok_or_else(|| Wrong::new("text", "You are missing variable `text`"))?;
    let value = std::str::from_utf8(value).map_err(|_| Wrong::new("text", "URI malformed"))?;
    if let Some(name) = CONTENT.into_iter().find(|name| of(name).is_some()) {
        let detail = "it is not drawn here; nothing is fetched, and no text is set";
        return Err(Wrong::new(name, detail));
    }
    let ink = |name: &str| {
        let ink = of(name).map(|value| text(value).parse().map(Ink));
        ink.transpose().map_err(|_| Wrong::new(name, "use 3, 4, 6 or 8 hexadecimal digits"))
    };
    let level = of("ecLevel").map(|level| text(level).to_ascii_lowercase());
    let options = Options {
        text: Some(value.to_owned()),
        level: Some(match level.as_deref() {
            Some("l" | "low") => LevelName::L,
            Some("q" | "quartile") => LevelName::Q,
            Some("h" | "high") => LevelName::H,
            _ => LevelName::M,
        }),
        mode: (of("mode") == Some(b"sjis")).then_some(Mode::Kanji),
        dark: ink("dark")?,
        light: ink("light")?,
        ..Options::default()
    };
    let margin = of("margin").and_then(|margin| leading_number(text(margin)));
    let margin = margin.filter(|margin| *margin >= 0).unwrap_or(4);
    if margin > MOST_MARGIN {
        return Err(Wrong::new("margin", format!("use 0 to {MOST_MARGIN}")));
    }
    let picture = picture(of("format").map(text), size_px(asked), margin as u32)?;
    Ok((options, picture))
}

fn picture(format: Option<&str>, size: i64, margin: u32) -> Result<Picture, Wrong> {
    // npm's qrcode takes no width below that of the smallest symbol.
    let width = u32::try_from(size).ok().filter(|size| *size >= 21);
    let pixels = match format {
        Some("svg") => {
            return Ok(Picture::Svg { width, margin: Box::new(move |_| Ok(margin)) });
        }
        Some("jpg" | "jpeg") => PixelFormat::Jpeg,
        Some("base64") => return Err(Wrong::new("format", "use png, jpg or svg")),
        _ => PixelFormat::Png,
    };
    let layout = move |modules: u32| {
        let needed = modules + 2 * margin;
        let (width, scale) = match width.filter(|width| *width >= needed) {
            Some(width) => (width, width / needed),
            None => (needed * FALLBACK_SCALE, FALLBACK_SCALE),
        };
        if width > MAX_SIZE_PX {
            return Err(Wrong::new(
                "margin",
                format!("the picture would be above {MAX_SIZE_PX} px"),
            ));
        }
        Ok(Place::centred((width, width), scale, modules))
    };
    Ok(Picture::Pixels(pixels, Box::new(layout)))
}
