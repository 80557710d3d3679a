//! The QR codes of Google Image Charts, `/chart?cht=qr`. Google has shut the service down, but many programs still use
//! it. zxing keeps its documentation and has a ChartServlet that answers the same. A wrong request gets 400.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::Method;
use http::request::Parts;

use super::super::Shared;
use super::super::bodies::{in_time, read_whole};
use super::drawing::{Drawing, MAX_SIZE_PX, draw, line_with, symbol, wrong};
use super::fields::{Fields, Plus, latin1, text};
use super::raster::{PixelFormat, Placement};
use super::{Client, MAX_BODY_BYTES, refuse};
use crate::v1::fault::{Fault, Refusal};
use crate::v1::options::{Bytes, LevelName, Mode, Options};

/// Our names of parameters, and theirs.
const NAMES: [(&str, &str); 5] =
    [("text", "chl"), ("data", "chl"), ("level", "chld"), ("scale", "chs"), ("size", "chs")];

/// The widest margin, in modules.
const MOST_MARGIN: u32 = 100;

/// Answers `/chart`.
pub(super) async fn answer(State(api): Shared, request: Request) -> Result<Response, Refusal> {
    let client = Client::of(&request);
    let (parts, body) = request.into_parts();
    let query = Fields::of_uri(&parts.uri, Plus::IsSpace);
    let fields = match parts.method {
        Method::GET | Method::HEAD => query,
        Method::POST => posted(&parts, body, query).await?,
        _ => return Err(Refusal::Method("GET, HEAD, POST")),
    };
    let made = api.pool.run(move || {
        let (options, picture) = read(&fields)?;
        draw(&options, &picture)
    });
    Ok(match made.await? {
        Ok(picture) => client.answer("image/png", picture, "public, max-age=86400"),
        Err(fault) => refuse(&line_with(&fault, &NAMES)),
    })
}

/// Reads a body: a form, or else the text to encode.
async fn posted(parts: &Parts, body: Body, query: Fields) -> Result<Fields, Refusal> {
    let bytes = in_time(read_whole(body, MAX_BODY_BYTES)).await?;
    let form = Fields::of_body(&parts.headers, Body::from(bytes.clone()), MAX_BODY_BYTES).await;
    match form {
        Ok(Some(form)) if form.names().any(|name| matches!(name, "cht" | "chl")) => {
            Ok(query.then(form))
        }
        _ => {
            let mut fields = Fields::default();
            fields.push("chl", bytes.to_vec());
            Ok(fields.then(query))
        }
    }
}

fn read(fields: &Fields) -> Result<(Options, Drawing), Fault> {
    let of = |name: &str| fields.first(name).map(text);
    match of("cht") {
        Some("qr") => {}
        _ => return Err(wrong("cht", "use qr; other charts are not drawn here")),
    }
    let chs = of("chs").ok_or_else(|| wrong("chs", "it is required, such as 150x150"))?;
    let (width, height) = size(chs)?;
    let (level, margin) = level_and_margin(of("chld").unwrap_or_default())?;
    let chl = fields.first("chl").filter(|chl| !chl.is_empty());
    let chl = chl.ok_or_else(|| wrong("chl", "it is required"))?;
    let chl = std::str::from_utf8(chl).map_err(|_| wrong("chl", "it is not UTF-8"))?;
    let options = encoded(chl, of("choe").unwrap_or("UTF-8"), level)?;
    // A picture that is too small for the symbol grows.
    let layout = move |modules: u32| {
        let needed = modules + 2 * margin;
        let (width, height) = (width.max(needed), height.max(needed));
        Ok(Placement::centred((width, height), width.min(height) / needed, modules))
    };
    Ok((options, Drawing::Pixels(PixelFormat::Png, Box::new(layout))))
}

/// Width and height, `WxH`; or one number for both, which QuickChart accepts on this path.
fn size(chs: &str) -> Result<(u32, u32), Fault> {
    let (width, height) = chs.split_once('x').unwrap_or((chs, chs));
    let sides = width.parse::<u32>().ok().zip(height.parse::<u32>().ok());
    let is_allowed = |side: u32| (1..=MAX_SIZE_PX).contains(&side);
    let sides = sides.filter(|(width, height)| is_allowed(*width) && is_allowed(*height));
    sides.ok_or_else(|| {
        wrong("chs", format!("use a size such as 150x150, of 1x1 to {MAX_SIZE_PX}x{MAX_SIZE_PX}"))
    })
}

/// `LEVEL|MARGIN`, either of which may be missing.
fn level_and_margin(chld: &str) -> Result<(LevelName, u32), Fault> {
    let refused = || {
        wrong("chld", format!("use LEVEL|MARGIN such as L|4: L, M, Q or H, and 0 to {MOST_MARGIN}"))
    };
    let (level, margin) = chld.split_once('|').unwrap_or((chld, ""));
    let level = if level.is_empty() { "L" } else { level };
    let level = LevelName::named(level).ok_or_else(refused)?;
    let margin = match margin {
        "" => Some(4),
        margin => margin.parse().ok().filter(|margin| *margin <= MOST_MARGIN),
    };
    Ok((level, margin.ok_or_else(refused)?))
}

/// The options for a text in the encoding `choe`. As in Google's service, Shift_JIS means Kanji mode if all characters
/// have it.
fn encoded(chl: &str, choe: &str, level: LevelName) -> Result<Options, Fault> {
    let with = |text: Option<String>, data: Option<Vec<u8>>| Options {
        text,
        data: data.map(Bytes),
        level: Some(level),
        ..Options::default()
    };
    match &*choe.to_ascii_uppercase() {
        "UTF-8" => Ok(with(Some(chl.to_owned()), None)),
        "ISO-8859-1" => {
            let lacks = || wrong("chl", "ISO-8859-1 lacks some characters");
            Ok(with(None, Some(latin1(chl).ok_or_else(lacks)?)))
        }
        "SHIFT_JIS" => {
            let kanji = Options { mode: Some(Mode::Kanji), ..with(Some(chl.to_owned()), None) };
            if symbol(&kanji).is_ok() {
                return Ok(kanji);
            }
            let (bytes, _, lacks) = encoding_rs::SHIFT_JIS.encode(chl);
            if lacks {
                return Err(wrong("chl", "Shift_JIS lacks some characters"));
            }
            Ok(with(None, Some(bytes.into_owned())))
        }
        _ => Err(wrong("choe", "use UTF-8, Shift_JIS or ISO-8859-1")),
    }
}
