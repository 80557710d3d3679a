//! qrcode.show: the text is the literal path with the query, or the body of a POST. `Accept` chooses the format, other
//! headers the options. It takes every path, so it is routed by host name.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, VARY};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use qr_core::{Ink, Modules, TextStyle, to_ascii};

use super::super::Api;
use super::super::bodies::{in_time, read_whole};
use super::super::qr::{CACHE, NO_STORE};
use super::drawing::{Drawing, MAX_SIZE_PX, draw, line_with, symbol, wrong};
use super::fields::base64;
use super::raster::{PixelFormat, Placement};
use super::{MAX_BODY_BYTES, refuse, with_body};
use crate::v1::fault::{Fault, Refusal};
use crate::v1::options::{self, Bytes, Kind, LevelName, Options};

/// The default side of a picture in pixels, and that of half blocks in characters.
const SIDE_PX: u32 = 360;
const SIDE_CHARACTERS: u32 = 20;
/// The most characters a side, as many as a very wide terminal has.
const MOST_CHARACTERS: u32 = 1000;
const PLAIN: &str = "text/plain; charset=utf-8";
/// The headers that a picture depends on.
const VARY_ON: &str = "Accept, X-QR-Width, X-QR-Height, X-QR-Min-Width, X-QR-Min-Height, X-QR-Max-Width, \
    X-QR-Max-Height, X-QR-Quiet-Zone, X-QR-EC-Level, X-QR-Version-Type, X-QR-Version-Number, X-QR-Dark-Color, \
    X-QR-Light-Color";

const HELP: &str = "Send a text as the path or as the body of a POST, and get its QR code.

  curl HOST/https://example.com
  curl HOST -d 'any text'
  curl HOST/text -H 'Accept: image/png' -o code.png

Accept: text/html, image/svg+xml, image/png, image/jpeg or text/plain; all other types give half blocks.
X-QR-Width, X-QR-Height, or X-QR-Min-Width, -Min-Height, -Max-Width, -Max-Height: pixels, or characters for half
blocks. X-QR-Quiet-Zone: true or false. X-QR-EC-Level: L, M, Q or H.
X-QR-Version-Type: micro or normal, with X-QR-Version-Number. X-QR-Dark-Color, X-QR-Light-Color: rrggbb.
";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Html,
    Svg,
    Png,
    Jpeg,
    Text,
    HalfBlocks,
}

impl Format {
    /// The format of the first type in `Accept`. Like qrcode.show, it ignores weights.
    fn of(headers: &HeaderMap) -> Self {
        match first(headers, ACCEPT.as_str()).unwrap_or_default().to_ascii_lowercase().as_str() {
            "text/html" => Format::Html,
            "image/svg+xml" => Format::Svg,
            "image/png" => Format::Png,
            "image/jpeg" => Format::Jpeg,
            "text/plain" => Format::Text,
            _ => Format::HalfBlocks,
        }
    }
}

/// A header's value up to the first comma or semicolon.
fn first<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let value = headers.get(name)?.to_str().unwrap_or("\u{fffd}");
    value.split([',', ';']).next().map(str::trim)
}

/// Answers every path of the host.
pub(super) async fn answer(State(api): State<Arc<Api>>, request: Request) -> Response {
    let is_get = matches!(*request.method(), Method::GET | Method::HEAD);
    let mut response = make(&api, request).await.unwrap_or_else(IntoResponse::into_response);
    let is_found = response.status().is_success();
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, if is_get && is_found { CACHE } else { NO_STORE });
    headers.insert("access-control-allow-origin", HeaderValue::from_static("*"));
    headers.insert("access-control-allow-headers", HeaderValue::from_static("*"));
    let methods = HeaderValue::from_static("HEAD, POST, GET, OPTIONS");
    headers.insert("access-control-allow-methods", methods);
    headers.append(VARY, HeaderValue::from_static(VARY_ON));
    response
}

async fn make(api: &Api, request: Request) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let format = Format::of(&parts.headers);
    let path = parts.uri.path().strip_prefix('/').unwrap_or_default();
    let content = match parts.method {
        Method::OPTIONS => return Ok(with_body(StatusCode::OK, PLAIN, "")),
        Method::GET | Method::HEAD if path.is_empty() => {
            return Ok(match format {
                Format::Html => page(&format!("<pre>{}</pre>", HELP.replace('<', "&lt;"))),
                Format::Text | Format::HalfBlocks => with_body(StatusCode::OK, PLAIN, HELP),
                _ => refuse("the path is the text to encode, and it is empty"),
            });
        }
        Method::GET | Method::HEAD => match parts.uri.query() {
            Some(query) => format!("{path}?{query}").into_bytes(),
            None => path.as_bytes().to_vec(),
        },
        Method::POST if !path.is_empty() => {
            return Ok(refuse("with POST the body is the text to encode, and the path must be /"));
        }
        Method::POST => in_time(read_whole(body, MAX_BODY_BYTES)).await?.to_vec(),
        _ => return Err(Refusal::Method("GET, HEAD, POST, OPTIONS")),
    };
    if content.is_empty() {
        return Ok(refuse("the body is the text to encode, and it is empty"));
    }
    let made = api.pool.run(move || {
        let (options, sizes) = read(&parts.headers, content, format)?;
        draw_as(format, &options, sizes)
    });
    Ok(made.await?.unwrap_or_else(|fault| refuse(&line_with(&fault, &[]))))
}

/// The largest side of the picture, in pixels or characters. Only modules of one pixel may make it larger.
///
/// As in qrcode.show, only the maximum counts: `-Width` sets it, or else the larger of `-Max-Width` and `-Min-Width`
/// (by default 360, for half blocks 20). Modules are square here, so the shorter of width and height counts.
fn side(headers: &HeaderMap, format: Format) -> Result<u32, Fault> {
    let (default, most) = match format {
        Format::HalfBlocks => (SIDE_CHARACTERS, MOST_CHARACTERS),
        _ => (SIDE_PX, MAX_SIZE_PX),
    };
    let of = |name: &str| number(headers, name, most);
    let longest = |exact, least, greatest| -> Result<u32, Fault> {
        let (exact, least, greatest) = (of(exact)?, of(least)?, of(greatest)?);
        Ok(exact.unwrap_or(greatest.unwrap_or(0).max(least.unwrap_or(default))))
    };
    let width = longest("x-qr-width", "x-qr-min-width", "x-qr-max-width")?;
    Ok(width.min(longest("x-qr-height", "x-qr-min-height", "x-qr-max-height")?))
}

fn number(headers: &HeaderMap, name: &str, most: u32) -> Result<Option<u32>, Fault> {
    let Some(value) = first(headers, name) else { return Ok(None) };
    let number = value.parse().ok().filter(|number| *number <= most);
    number.map(Some).ok_or_else(|| wrong(name, format!("use 0 to {most}")))
}

/// The options, and the largest side of the picture.
fn read(headers: &HeaderMap, content: Vec<u8>, format: Format) -> Result<(Options, u32), Fault> {
    let side = side(headers, format)?;
    let quiet_zone = match first(headers, "x-qr-quiet-zone") {
        None | Some("true") => true,
        Some("false") => false,
        Some(_) => return Err(wrong("x-qr-quiet-zone", "use true or false")),
    };
    let level = first(headers, "x-qr-ec-level").map(|name| {
        LevelName::named(name).ok_or_else(|| wrong("x-qr-ec-level", "use L, M, Q or H"))
    });
    let level = level.transpose()?;
    let ink = |name: &str| {
        let ink = first(headers, name).map(|value| value.parse::<options::Ink>());
        ink.transpose().map_err(|_| wrong(name, "use 3 or 6 hexadecimal digits"))
    };
    let is_colored = !matches!(format, Format::Text | Format::HalfBlocks);
    let mut options = Options {
        level,
        margin: (!quiet_zone).then_some(0),
        dark: if is_colored { ink("x-qr-dark-color")? } else { None },
        light: if is_colored { ink("x-qr-light-color")? } else { None },
        ..Options::default()
    };
    let version = number(headers, "x-qr-version-number", 40)?.unwrap_or(0) as u8;
    if version > 0 {
        let is_normal = matches!(first(headers, "x-qr-version-type"), Some("n" | "normal"));
        options.kind = Some(if is_normal { Kind::Qr } else { Kind::Micro });
        (options.version_min, options.version_max) = (Some(version), Some(version));
        options.level = options.level.or(Some(LevelName::L));
    }
    match String::from_utf8(content) {
        Ok(text) => options.text = Some(text),
        Err(error) => options.data = Some(Bytes(error.into_bytes())),
    }
    Ok((options, side))
}

fn draw_as(format: Format, options: &Options, side: u32) -> Result<Response, Fault> {
    let micro = options.kind == Some(Kind::Micro);
    let quiet_zone = if micro { 2 } else { 4 };
    let margin = options.margin.unwrap_or(quiet_zone);
    // The scale follows from the size with the quiet zone, even if the picture has none.
    let scale = move |modules: u32| (side / (modules + 2 * quiet_zone)).max(1);
    let layout = move |modules: u32| {
        let scale = scale(modules);
        let side = scale * (modules + 2 * margin);
        Ok(Placement::centred((side, side), scale, modules))
    };
    let pixels = |pixels: PixelFormat| -> Result<Response, Fault> {
        let picture = draw(options, &Drawing::Pixels(pixels, Box::new(layout)))?;
        Ok(with_body(StatusCode::OK, pixels.content_type(), picture))
    };
    match format {
        Format::Png => pixels(PixelFormat::Png),
        Format::Jpeg => pixels(PixelFormat::Jpeg),
        Format::Svg | Format::Html => {
            let modules = symbol(options)?.symbol.modules().width() as u32;
            let width = Some(scale(modules) * (modules + 2 * margin));
            let svg =
                draw(options, &Drawing::Svg { width, margin: Box::new(move |_| Ok(margin)) })?;
            if format == Format::Html {
                let picture = format!("data:image/svg+xml;base64,{}", base64(&svg));
                return Ok(page(&format!("<img alt=\"QR code\" src=\"{picture}\">")));
            }
            let mut response = with_body(StatusCode::OK, "image/svg+xml", svg);
            let policy = HeaderValue::from_static("default-src 'none'; sandbox");
            response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
            Ok(response)
        }
        Format::Text | Format::HalfBlocks => {
            let encoded = symbol(options)?;
            let modules = encoded.symbol.modules();
            let out = match format {
                // Two full blocks for a dark module, two spaces for a light one.
                Format::Text => {
                    let style = TextStyle::default().margin_modules(margin).ink(Ink::Dark);
                    to_ascii(modules, &style).replace('#', "█")
                }
                _ => {
                    let scale = scale(modules.width() as u32) as usize;
                    half_blocks(modules, margin as usize, scale)
                }
            };
            Ok(with_body(StatusCode::OK, PLAIN, out))
        }
    }
}

/// Draws light modules as blocks for a dark terminal, with two rows of modules per line. A module is `scale` characters
/// wide.
fn half_blocks(modules: Modules<'_>, margin: usize, scale: usize) -> String {
    let side = scale * (modules.width() + 2 * margin);
    let is_light = |x: usize, y: usize| {
        let module = |at: usize| (at / scale).wrapping_sub(margin);
        y < side && !modules.is_dark(module(x), module(y))
    };
    let mut out = String::with_capacity(2 * side * side);
    for y in (0..side).step_by(2) {
        out.extend((0..side).map(|x| match (is_light(x, y), is_light(x, y + 1)) {
            (true, true) => '█',
            (true, false) => '▀',
            (false, true) => '▄',
            (false, false) => ' ',
        }));
        out.push('\n');
    }
    out
}

fn page(content: &str) -> Response {
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>QR code</title>{content}</html>\n"
    );
    let mut response = with_body(StatusCode::OK, "text/html; charset=utf-8", page);
    let policy =
        HeaderValue::from_static("default-src 'none'; img-src data:; frame-ancestors 'none'");
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    response
}
