//! goQR's `/v1/create-qr-code/` (goqr.me/api/doc/create-qr-code). A wrong request gets 400 and a line that
//! names the parameter.

use axum::extract::{Request, State};
use axum::response::Response;
use http::Method;
use qr_core::Color;

use super::super::Shared;
use super::drawing::{Drawing, draw, line_with, wrong};
use super::fields::{Fields, Plus, latin1, text};
use super::raster::{PixelFormat, Placement};
use super::{Client, MAX_BODY_BYTES, refuse};
use crate::v1::fault::{Fault, Refusal};
use crate::v1::options::{Bytes, Ink, LevelName, Options};

/// Our names of parameters, and theirs.
const NAMES: [(&str, &str); 7] = [
    ("text", "data"),
    ("level", "ecc"),
    ("dark", "color"),
    ("light", "bgcolor"),
    ("scale", "size"),
    ("width_mm", "size"),
    ("version_max", "data"),
];

/// The most pixels a side of a raster picture, and the most units a side of a vector picture.
const MOST_PIXELS: u32 = 1000;
const MOST_UNITS: u32 = 1_000_000;

/// Answers `/v1/create-qr-code/`.
pub(super) async fn create(State(api): Shared, request: Request) -> Result<Response, Refusal> {
    let client = Client::of(&request);
    let fields = read_fields(request, MAX_BODY_BYTES).await?;
    let made = api.pool.run(move || {
        let (options, picture) = read(&fields)?;
        Ok::<_, Fault>((picture.content_type(), draw(&options, &picture)?))
    });
    Ok(match made.await? {
        Ok((media, picture)) => client.answer(media, picture, "public, max-age=86400"),
        Err(fault) => refuse(&line_with(&fault, &NAMES)),
    })
}

/// The parameters of a request, with those of the query last, so that they override those of the body.
pub(super) async fn read_fields(request: Request, limit: usize) -> Result<Fields, Refusal> {
    let (parts, body) = request.into_parts();
    let query = Fields::of_uri(&parts.uri, Plus::IsSpace);
    match parts.method {
        Method::GET | Method::HEAD => Ok(query),
        Method::POST => {
            let form = Fields::of_body(&parts.headers, body, limit).await?.unwrap_or_default();
            // goQR runs on PHP, which takes the last of repeated parameters.
            Ok(form.then(query))
        }
        _ => Err(Refusal::Method("GET, HEAD, POST")),
    }
}

fn read(fields: &Fields) -> Result<(Options, Drawing), Fault> {
    let of = |name: &str| fields.last(name).map(text).filter(|value| !value.is_empty());
    let level = LevelName::named(&of("ecc").unwrap_or("L").to_ascii_uppercase());
    let mut options = Options {
        level: Some(level.ok_or_else(|| wrong("ecc", "use L, M, Q or H"))?),
        dark: of("color").map(|value| color("color", value)).transpose()?,
        light: of("bgcolor").map(|value| color("bgcolor", value)).transpose()?,
        ..Options::default()
    };
    let charset = |name: &str| of(name).unwrap_or("UTF-8").to_ascii_uppercase();
    let data = fields.last("data").unwrap_or_default();
    read_data(data, &charset("charset-source"), &charset("charset-target"), &mut options)?;
    let margin = number("margin", of("margin"), 1, 50)?;
    let zone = number("qzone", of("qzone"), 0, 100)?;
    Ok((options, picture(of("format"), of("size"), margin, zone)?))
}

/// Reads the content in the charset `from`, and sets it in the charset `to`.
fn read_data(data: &[u8], from: &str, to: &str, options: &mut Options) -> Result<(), Fault> {
    if data.is_empty() {
        return Err(wrong("data", "there is nothing to encode"));
    }
    let use_known = "use UTF-8 or ISO-8859-1";
    let text = match from {
        "UTF-8" => std::str::from_utf8(data).map(str::to_owned).map_err(|_| {
            wrong("data", "it is not UTF-8; if it is ISO-8859-1, add charset-source=ISO-8859-1")
        })?,
        "ISO-8859-1" => data.iter().copied().map(char::from).collect(),
        _ => return Err(wrong("charset-source", use_known)),
    };
    match to {
        "UTF-8" => options.text = Some(text),
        "ISO-8859-1" => {
            let lacks = || wrong("data", "ISO-8859-1 lacks some characters");
            options.data = Some(Bytes(latin1(&text).ok_or_else(lacks)?));
        }
        _ => return Err(wrong("charset-target", use_known)),
    }
    Ok(())
}

/// `r-g-b` in decimal, or 3 or 6 hexadecimal digits.
fn color(name: &str, value: &str) -> Result<Ink, Fault> {
    let refused =
        || wrong(name, "use decimals such as 255-0-0, or hexadecimal such as f00 or ff0000");
    if value.contains('-') {
        let parts: Result<Vec<u8>, _> = value.split('-').map(str::parse).collect();
        return match parts.ok().as_deref() {
            Some([red, green, blue]) => Ok(Color::rgb(*red, *green, *blue).into()),
            _ => Err(refused()),
        };
    }
    let digits = value.trim_start_matches('#');
    if !matches!(digits.len(), 3 | 6) {
        return Err(refused());
    }
    digits.parse::<Ink>().map_err(|_| refused())
}

fn number(name: &str, value: Option<&str>, default: u32, most: u32) -> Result<u32, Fault> {
    let Some(value) = value else { return Ok(default) };
    let number = value.parse().ok().filter(|number| *number <= most);
    number.ok_or_else(|| wrong(name, format!("use 0 to {most}")))
}

fn picture(
    format: Option<&str>,
    size: Option<&str>,
    margin: u32,
    zone: u32,
) -> Result<Drawing, Fault> {
    let format = format.unwrap_or("png").to_ascii_lowercase();
    let pixels = match &*format {
        "png" => Some(PixelFormat::Png),
        "gif" => Some(PixelFormat::Gif),
        "jpg" | "jpeg" => Some(PixelFormat::Jpeg),
        "svg" | "eps" => None,
        _ => return Err(wrong("format", "use png, gif, jpeg, jpg, svg or eps")),
    };
    let most = if pixels.is_some() { MOST_PIXELS } else { MOST_UNITS };
    let size = side(size.unwrap_or("200x200"), most)?;
    // The largest whole number of pixels per module that leaves room for the margin and the quiet zone.
    let scale = move |modules: u32| match size.saturating_sub(2 * margin) / (modules + 2 * zone) {
        0 => {
            let least = modules + 2 * zone + 2 * margin;
            Err(wrong("size", format!("the symbol and its margin need {least}x{least}")))
        }
        scale => Ok(scale),
    };
    let layout = move |modules| Ok(Placement::centred((size, size), scale(modules)?, modules));
    let modules_around = move |modules| Ok(zone + margin.div_ceil(scale(modules)?));
    Ok(match (pixels, &*format) {
        (Some(pixels), _) => Drawing::Pixels(pixels, Box::new(layout)),
        (None, "svg") => Drawing::Svg { width: Some(size), margin: Box::new(modules_around) },
        (None, _) => Drawing::Eps { points: size, margin: Box::new(modules_around) },
    })
}

/// A side of a square, `NxN`, or `N` as some programs write it.
fn side(size: &str, most: u32) -> Result<u32, Fault> {
    let refused =
        || wrong("size", format!("use a square such as 200x200, of 10x10 to {most}x{most}"));
    let (width, height) = size.split_once(['x', 'X']).unwrap_or((size, size));
    let (width, height): (u32, u32) =
        (width.parse().map_err(|_| refused())?, height.parse().map_err(|_| refused())?);
    (width == height && (10..=most).contains(&width)).then_some(width).ok_or_else(refused)
}
