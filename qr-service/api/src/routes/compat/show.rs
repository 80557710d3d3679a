//! qrcode.show: the text is the path as it stands, with the query, or the body of a POST. `Accept` chooses the
//! format, and headers the options. It takes every path, so it is routed by host name.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, VARY};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use qr_core::{Ink, TextStyle, write_half_blocks};

use super::super::Api;
use super::super::bodies::{in_time, read_whole};
use super::asked::base64;
use super::drawing::{MAX_SIZE_PX, Picture, Wrong, draw, symbol};
use super::raster::{PixelFormat, Place};
use super::{MAX_BODY_BYTES, with_body};
use crate::fault::Refusal;
use crate::options::{self, Bytes, Kind, LevelName, Options};

/// The least side of a picture in pixels, without a header that says otherwise.
const LEAST_PX: u32 = 360;
const PLAIN: &str = "text/plain; charset=utf-8";

const HELP: &str = "Send a text as the path or as the body of a POST, and get its QR code.

  curl HOST/https://example.com
  curl HOST -d 'any text'
  curl HOST/text -H 'Accept: image/png' -o code.png

Accept: text/html, image/svg+xml, image/png, image/jpeg or text/plain; half blocks for all else.
X-QR-Min-Width, X-QR-Min-Height: pixels. X-QR-Quiet-Zone: true or false. X-QR-EC-Level: L, M, Q or H.
X-QR-Version-Type: micro or normal, with X-QR-Version-Number. X-QR-Dark-Color, X-QR-Light-Color: for SVG.
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
    /// By the first type of `Accept`, without regard to weights, as the service does.
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
    let mut response = make(&api, request).await.unwrap_or_else(IntoResponse::into_response);
    let headers = response.headers_mut();
    headers.insert("access-control-allow-origin", HeaderValue::from_static("*"));
    headers.insert("access-control-allow-headers", HeaderValue::from_static("*"));
    let methods = HeaderValue::from_static("HEAD, POST, GET, OPTIONS");
    headers.insert("access-control-allow-methods", methods);
    headers.append(VARY, HeaderValue::from_static("Accept"));
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
                _ => refuse("the path is the text, and it is empty"),
            });
        }
        Method::GET | Method::HEAD => match parts.uri.query() {
            Some(query) => format!("{path}?{query}").into_bytes(),
            None => path.as_bytes().to_vec(),
        },
        Method::POST if !path.is_empty() => {
            return Ok(refuse("with POST the body is the text, and the path is /"));
        }
        Method::POST => in_time(read_whole(body, MAX_BODY_BYTES)).await?.to_vec(),
        _ => return Err(Refusal::Method("GET, HEAD, POST, OPTIONS")),
    };
    if content.is_empty() {
        return Ok(refuse("the body is the text, and it is empty"));
    }
    let made = api.pool.run(move || {
        let (options, sizes) = read(&parts.headers, content, format)?;
        draw_as(format, &options, sizes)
    });
    Ok(made.await?.unwrap_or_else(|wrong| refuse(&wrong.line(&[]))))
}

fn refuse(line: &str) -> Response {
    let mut response = with_body(StatusCode::BAD_REQUEST, PLAIN, format!("{line}\n"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The least width and height in pixels.
type Sizes = (u32, u32);

fn read(headers: &HeaderMap, content: Vec<u8>, format: Format) -> Result<(Options, Sizes), Wrong> {
    let number = |name: &str, default: u32, most: u32| match first(headers, name) {
        None => Ok(default),
        Some(value) => {
            let number = value.parse().ok().filter(|number| *number <= most);
            number.ok_or_else(|| Wrong::new(name, format!("use 0 to {most}")))
        }
    };
    let width = number("x-qr-min-width", LEAST_PX, MAX_SIZE_PX)?;
    let height = number("x-qr-min-height", LEAST_PX, MAX_SIZE_PX)?;
    let quiet_zone = match first(headers, "x-qr-quiet-zone") {
        None | Some("true") => true,
        Some("false") => false,
        Some(_) => return Err(Wrong::new("x-qr-quiet-zone", "use true or false")),
    };
    let level = match first(headers, "x-qr-ec-level") {
        None => None,
        Some("L") => Some(LevelName::L),
        Some("M") => Some(LevelName::M),
        Some("Q") => Some(LevelName::Q),
        Some("H") => Some(LevelName::H),
        Some(_) => return Err(Wrong::new("x-qr-ec-level", "use L, M, Q or H")),
    };
    let ink = |name: &str| {
        let ink = first(headers, name).map(|value| value.parse().map(options::Ink));
        ink.transpose().map_err(|_| Wrong::new(name, "use 3 or 6 hexadecimal digits"))
    };
    let is_vector = matches!(format, Format::Svg | Format::Html);
    let mut options = Options {
        level,
        margin: (!quiet_zone).then_some(0),
        dark: if is_vector { ink("x-qr-dark-color")? } else { None },
        light: if is_vector { ink("x-qr-light-color")? } else { None },
        ..Options::default()
    };
    let version = number("x-qr-version-number", 0, 40)? as u8;
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
    Ok((options, (width, height)))
}

fn draw_as(format: Format, options: &Options, sizes: Sizes) -> Result<Response, Wrong> {
    let micro = options.kind == Some(Kind::Micro);
    let margin = options.margin.unwrap_or(if micro { 2 } else { 4 });
    let fits = move |modules: u32| -> Result<u32, Wrong> {
        let scale = sizes.0.max(sizes.1).div_ceil(modules + 2 * margin).max(1);
        match scale * (modules + 2 * margin) {
            side if side > MAX_SIZE_PX => {
                Err(Wrong::new("x-qr-min-width", format!("it would be {side} px wide")))
            }
            _ => Ok(scale),
        }
    };
    let layout = move |modules: u32| {
        let scale = fits(modules)?;
        let side = scale * (modules + 2 * margin);
        Ok(Place::centred((side, side), scale, modules))
    };
    let pixels = |pixels: PixelFormat| -> Result<Response, Wrong> {
        let picture = draw(options, &Picture::Pixels(pixels, Box::new(layout)))?;
        Ok(with_body(StatusCode::OK, pixels.content_type(), picture))
    };
    match format {
        Format::Png => pixels(PixelFormat::Png),
        Format::Jpeg => pixels(PixelFormat::Jpeg),
        Format::Svg | Format::Html => {
            let modules = symbol(options)?.symbol.modules().width() as u32;
            let width = Some(fits(modules)? * (modules + 2 * margin));
            let svg =
                draw(options, &Picture::Svg { width, margin: Box::new(move |_| Ok(margin)) })?;
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
            let mut out = String::new();
            if format == Format::HalfBlocks {
                let style = TextStyle { margin_modules: margin, ink: Ink::Dark };
                write_half_blocks(modules, &style, &mut out);
            } else {
                write_full_blocks(modules, margin as usize, &mut out);
            }
            Ok(with_body(StatusCode::OK, PLAIN, out))
        }
    }
}

/// Two full blocks for a dark module, two spaces for a light one.
fn write_full_blocks(modules: qr_core::Modules<'_>, margin: usize, out: &mut String) {
    for y in 0..modules.height() + 2 * margin {
        for x in 0..modules.width() + 2 * margin {
            let is_dark = modules.is_dark(x.wrapping_sub(margin), y.wrapping_sub(margin));
            out.push_str(if is_dark { "██" } else { "  " });
        }
        out.push('\n');
    }
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
