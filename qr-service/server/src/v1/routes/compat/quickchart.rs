//! QuickChart's `/qr` (quickchart.io/documentation/qr-codes). A wrong request gets 400, a picture of a cross,
//! and the reason in `X-quickchart-error`, because most answers are shown by an `<img>`.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::header::CONTENT_SECURITY_POLICY;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde_json::{Map, Value};

use super::super::Shared;
use super::super::bodies::{MAX_OPTIONS_BYTES, in_time, place_for_long, read_whole};
use super::drawing::{
    Drawing, MAX_SIZE_PX, check_styled, converted, draw_with, line_with, symbol, wrong,
};
use super::fields::{Fields, Plus, base64};
use super::looks::{read_caption, read_center_image, read_styles};
use super::raster::{CROSS, PixelFormat, Placement};
use super::{Client, uncached};
use crate::v1::fault::{Fault, Refusal};
use crate::v1::letters::Letters;
use crate::v1::options::{FinderShape, Ink, LevelName, Mode, Options};
use crate::v1::plan::Colors;

/// Our names of parameters, and theirs.
const NAMES: [(&str, &str); 8] = [
    ("level", "ecLevel"),
    ("scale", "size"),
    ("version_max", "text"),
    ("shape", "dotStyle"),
    ("finder_shape", "finderStyle"),
    ("finder_color", "finderColor"),
    ("logo", "centerImageUrl"),
    ("logo_size", "centerImageSizeRatio"),
];

const ERROR: HeaderName = HeaderName::from_static("x-quickchart-error");

const DEFAULT_SIZE_PX: i64 = 150;
pub(super) const MOST_SIZE_PX: i64 = 3000;
/// Pixels per module if the requested size is too small for the symbol.
const FALLBACK_SCALE: u32 = 4;
/// The widest margin, in modules.
const MOST_MARGIN: i64 = 100;

/// Answers `/qr`.
pub(super) async fn answer(State(api): Shared, request: Request) -> Result<Response, Refusal> {
    let client = Client::of(&request);
    let (parts, body) = request.into_parts();
    let fields = match parts.method {
        Method::GET | Method::HEAD => Fields::of_uri(&parts.uri, Plus::Stays),
        Method::POST => match posted(&parts.headers, body).await? {
            Some(fields) => fields,
            None => return Ok(refuse(&wrong("body", "it is not a JSON object"))),
        },
        _ => return Err(Refusal::Method("GET, HEAD, POST")),
    };
    let (media, picture) = match api.pool.run(move || drawn(&fields)).await? {
        Ok(made) => made,
        Err(fault) => return Ok(refuse(&fault)),
    };
    let mut response = client.answer(media, picture, "public, max-age=604800");
    let headers = response.headers_mut();
    if media == "image/svg+xml" {
        let policy = HeaderValue::from_static("default-src 'none'; sandbox");
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    Ok(response)
}

/// The parameters of a JSON object; `None` if the body is not one. Fails if the body is too long or slow, or all places
/// for long bodies are taken.
pub(super) async fn posted(headers: &HeaderMap, body: Body) -> Result<Option<Fields>, Refusal> {
    let _place = place_for_long(headers).await?;
    let bytes = in_time(read_whole(body, MAX_OPTIONS_BYTES)).await?;
    let fields: Option<Map<String, Value>> = serde_json::from_slice(&bytes).ok();
    Ok(fields.as_ref().map(of_json))
}

/// Media type and bytes of the requested picture. Fails if the picture cannot be made or cannot be read.
pub(super) fn drawn(fields: &Fields) -> Result<(&'static str, Vec<u8>), Fault> {
    let code = read(fields)?;
    let picture = code.draw()?;
    // In QuickChart, `base64` means the PNG in Base64, without `data:` before it.
    if fields.given("format") == Some("base64") {
        return Ok(("text/plain; charset=utf-8", base64(&picture).into_bytes()));
    }
    Ok((code.content_type(), picture))
}

/// Inserts a header unless its value is empty or invalid.
fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let (false, Ok(value)) = (value.is_empty(), HeaderValue::from_str(value)) {
        headers.insert(name, value);
    }
}

fn refuse(fault: &Fault) -> Response {
    let mut response = uncached(StatusCode::BAD_REQUEST, "image/png", CROSS);
    insert(response.headers_mut(), ERROR, &line_of(fault));
    response
}

/// The fault in one line, with QuickChart's names.
pub(super) fn line_of(fault: &Fault) -> String {
    line_with(fault, &NAMES).replace("logo_size", "centerImageSizeRatio")
}

/// The fields of a JSON object. Fields that are neither text, number nor boolean are left out.
pub(super) fn of_json(object: &Map<String, Value>) -> Fields {
    let mut fields = Fields::default();
    for (name, value) in object {
        match value {
            Value::String(text) => fields.push(name, text.as_bytes()),
            Value::Number(_) | Value::Bool(_) => fields.push(name, value.to_string()),
            _ => {}
        }
    }
    fields
}

/// The requested side of a picture, in pixels.
pub(super) fn size_px(fields: &Fields) -> i64 {
    match fields.given("size").and_then(leading_number) {
        None | Some(0) => DEFAULT_SIZE_PX,
        Some(size) => size.min(MOST_SIZE_PX),
    }
}

/// Reads a number like JavaScript's `parseInt`: an optional sign and the digits at the beginning.
fn leading_number(value: &str) -> Option<i64> {
    let value = value.trim_start();
    let digits = value.strip_prefix(['-', '+']).unwrap_or(value);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let number: i64 = digits.get(..end.min(15))?.parse().ok()?;
    Some(if value.starts_with('-') { -number } else { number })
}

/// A code to draw.
pub(super) struct Code {
    options: Options,
    /// The shape of the finder patterns' cores, if it is another.
    cores: Option<FinderShape>,
    picture: Drawing,
    /// The caption to draw below the picture, and the format to convert the result to. `picture` is then a PNG.
    caption: Option<(Letters, PixelFormat)>,
}

impl Code {
    fn content_type(&self) -> &'static str {
        let with_caption = self.caption.as_ref().map(|(_, format)| format.content_type());
        with_caption.unwrap_or_else(|| self.picture.content_type())
    }

    /// Draws the code with its caption. Fails if the picture cannot be made or cannot be read.
    pub(super) fn draw(&self) -> Result<Vec<u8>, Fault> {
        let drawn = draw_with(&self.options, self.cores, &self.picture)?;
        match &self.caption {
            Some((caption, format)) => {
                let light = self.options.light.map_or(Colors::PLAIN.light, |ink| ink.0);
                let quiet_px = self.missing_quiet_zone_px()?;
                converted(caption.below(&drawn, |_, _, _| light, quiet_px)?, *format)
            }
            None => Ok(drawn),
        }
    }

    /// Pixels that the margin lacks for the standard's quiet zone.
    fn missing_quiet_zone_px(&self) -> Result<u32, Fault> {
        let modules = symbol(&self.options)?.symbol.modules().width() as u32;
        let scale = match &self.picture {
            Drawing::Pixels(_, layout) => layout(modules)?.scale,
            _ => 0,
        };
        Ok(4_u32.saturating_sub(self.options.margin.unwrap_or(4)) * scale)
    }
}

pub(super) fn read(fields: &Fields) -> Result<Code, Fault> {
    let value = fields.first("text").filter(|value| !value.is_empty());
    let value = value.ok_or_else(|| wrong("text", "You are missing variable `text`"))?;
    let value = std::str::from_utf8(value).map_err(|_| wrong("text", "URI malformed"))?;
    let ink = |name: &str| {
        let ink = fields.given(name).map(str::parse::<Ink>);
        ink.transpose().map_err(|_| wrong(name, "use 3, 4, 6 or 8 hexadecimal digits"))
    };
    let level = fields.given("ecLevel").map(str::to_ascii_lowercase);
    let mut options = Options {
        text: Some(value.to_owned()),
        level: match level.as_deref() {
            Some("l" | "low") => Some(LevelName::L),
            Some("m" | "medium") => Some(LevelName::M),
            Some("q" | "quartile") => Some(LevelName::Q),
            Some("h" | "high") => Some(LevelName::H),
            // H with a picture in the middle, else M. Our defaults are the same.
            _ => None,
        },
        mode: (fields.given("mode") == Some("sjis")).then_some(Mode::Kanji),
        dark: ink("dark")?,
        light: ink("light")?,
        ..Options::default()
    };
    let margin = fields.given("margin").and_then(leading_number);
    let margin = margin.filter(|margin| *margin >= 0).unwrap_or(4);
    if margin > MOST_MARGIN {
        return Err(wrong("margin", format!("use 0 to {MOST_MARGIN}")));
    }
    let (margin, size) = (margin as u32, size_px(fields));
    options.margin = Some(margin);
    let cores = read_styles(fields, &mut options)?;
    read_center_image(fields, size, margin, &mut options)?;
    let pixels = match fields.given("format") {
        Some("svg") => None,
        Some("jpg" | "jpeg") => Some(PixelFormat::Jpeg),
        _ => Some(PixelFormat::Png),
    };
    let caption = match read_caption(fields)? {
        Some(caption) => {
            // Refused, because a code without its caption would go unnoticed.
            let format = pixels.ok_or_else(|| wrong("caption", "use png or jpg, not svg"))?;
            check_styled(format, size)?;
            Some((caption, format))
        }
        None => None,
    };
    let pixels = caption.as_ref().map_or(pixels, |_| Some(PixelFormat::Png));
    Ok(Code { options, cores, picture: picture(pixels, size, margin), caption })
}

/// `pixels` is `None` for an SVG.
fn picture(pixels: Option<PixelFormat>, size: i64, margin: u32) -> Drawing {
    // npm's qrcode ignores a width below that of the smallest symbol.
    let width = u32::try_from(size).ok().filter(|size| *size >= 21);
    let Some(pixels) = pixels else {
        return Drawing::Svg { width, margin: Box::new(move |_| Ok(margin)) };
    };
    let layout = move |modules: u32| {
        let needed = modules + 2 * margin;
        let (width, scale) = match width.filter(|width| *width >= needed) {
            Some(width) => (width, width / needed),
            None => (needed * FALLBACK_SCALE, FALLBACK_SCALE),
        };
        if width > MAX_SIZE_PX {
            return Err(wrong("margin", format!("the picture would be above {MAX_SIZE_PX} px")));
        }
        Ok(Placement::centred((width, width), scale, modules))
    };
    Drawing::Pixels(pixels, Box::new(layout))
}
