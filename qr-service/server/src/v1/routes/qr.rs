//! `/v1/qr`: a symbol with every option, by `GET` (query) or `POST` (JSON or a form).

use std::panic::{AssertUnwindSafe, catch_unwind};

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method};
use qr_options::OPTIONS;
use serde_json::{Map, Value};

use super::bodies::read_options;
use super::{Api, Shared};
use crate::tags::{is_any, is_known, not_modified};
use crate::v1::artwork::{Artwork, LogoPixels, STEPS, between};
use crate::v1::described::describe;
use crate::v1::fault::{Code, Fault, Problem, Refusal};
use crate::v1::headers::{accepted, disposition, tag};
use crate::v1::letters::Letters;
use crate::v1::logo;
use crate::v1::options::{Compression, Format, Frame, Options};
use crate::v1::parameters::{Schema, read_query};
use crate::v1::picture::{SymbolData, draw, over_white, size_px};
use crate::v1::plan::{Colors, Fit, PicturePlan, Plan, plan_of};
use crate::v1::symbol::{Encoded, encode};
use crate::v1::verify;

/// `Cache-Control` of pictures that a query asks for.
pub(super) const CACHE: HeaderValue = HeaderValue::from_static("public, max-age=86400");
pub(super) const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
/// An SVG can contain scripts. Ours has none, and with this policy no browser would run them. `data:` allows the
/// embedded logo.
const SVG_POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; img-src data:; sandbox");

/// The longest content that is encoded on the thread that serves, as for `/qrcode`.
const SHORT_BYTES: usize = 512;
/// The most pixels that are decoded on that thread. A check takes about 4 ns per pixel.
const QUICK_PX: u64 = 100_000;

/// Answers with a picture in the format of the parameter `format`, or else of `Accept`.
#[utoipa::path(
    get, path = "/v1/qr", operation_id = "qr", tag = "qr",
    responses(
        (status = 200, description = "The picture", content((Vec<u8> = "image/png"),
            (String = "image/svg+xml"), (Vec<u8> = "application/pdf"), (String = "application/postscript"),
            (String = "text/plain"), (SymbolData = "application/json"), (String = "application/zpl"), (Vec<u8> = "application/epl"))),
        (status = 304, description = "The client has the picture"),
        (status = 400, description = "Wrong parameters", body = Problem, content_type = "application/problem+json"),
        (status = 406, description = "Accept allows none of the formats", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The data does not fit, or the picture cannot be read", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "All workers are busy", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn negotiated(State(api): Shared, request: Request) -> Result<Response, Refusal> {
    answer(&api, request, None).await
}

/// Answers with a picture in the format of the extension.
#[utoipa::path(
    get, path = "/v1/qr.{extension}", operation_id = "qr_file", tag = "qr",
    params(("extension" = String, Path, description = "Format of the picture")),
    responses(
        (status = 404, description = "No such format", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn by_extension(
    State(api): Shared,
    Path(path): Path<String>,
    request: Request,
) -> Result<Response, Refusal> {
    let extension = path.strip_prefix("qr.").ok_or(Refusal::NotFound)?;
    let format = Format::of_extension(extension).ok_or_else(Refusal::no_format)?;
    answer(&api, request, Some(format)).await
}

async fn answer(api: &Api, request: Request, of_path: Option<Format>) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let mut faults = Vec::new();
    let is_get = matches!(parts.method, Method::GET | Method::HEAD);
    let right = parts.uri.query().filter(|_| is_get).and_then(|it| OPTIONS.read_right(it));
    let options = match right {
        Some(options) => options,
        None => {
            let values = read_values(&parts, body, &[&OPTIONS], &mut faults).await?;
            OPTIONS.read(&values, &mut faults).unwrap_or_default()
        }
    };
    serve(api, &parts, of_path, options, faults).await
}

/// Reads the parameters of a query, or with POST those of the body, a JSON object or a form. With POST, parameters in
/// the query are a fault.
pub(super) async fn read_values(
    parts: &Parts,
    body: Body,
    schemas: &[&Schema],
    faults: &mut Vec<Fault>,
) -> Result<Map<String, Value>, Refusal> {
    let values = read_query(parts.uri.query().unwrap_or_default(), schemas, faults);
    match parts.method {
        Method::GET | Method::HEAD => Ok(values),
        Method::POST => {
            if let Some(name) = values.keys().next() {
                let detail = "with POST all parameters must be in the body";
                faults.push(Fault::new(name, Code::Contradictory, detail));
            }
            read_options(&parts.headers, body, schemas, faults).await
        }
        _ => Err(Refusal::Method("GET, HEAD, POST")),
    }
}

/// Answers with the picture of the options. `faults` are the faults found so far.
pub(super) async fn serve(
    api: &Api,
    parts: &Parts,
    of_path: Option<Format>,
    options: Options,
    faults: Vec<Fault>,
) -> Result<Response, Refusal> {
    let chosen = of_path.or(options.format);
    let format = chosen.or_else(|| accepted(&parts.headers)).ok_or(Refusal::NotAcceptable)?;
    let filename = options.filename.clone();
    let plan = plan_of(options, format, faults).map_err(Refusal::Parameters)?;
    let about = About { format, tag: tag(&plan), by_accept: chosen.is_none(), filename };
    let is_post = parts.method == Method::POST;
    let cache = if is_post { NO_STORE } else { CACHE };
    let is_known = !is_post && is_known(&parts.headers, &about.tag);
    // A client that has the tag has had the picture; `*` says nothing about whether it can be made.
    let made =
        if is_known && !is_any(&parts.headers) { None } else { Some(make(api, plan).await?) };
    let Some(made) = made.filter(|_| !is_known) else {
        let mut response = not_modified(about.tag.clone(), cache);
        about.put_choice(response.headers_mut());
        return Ok(response);
    };
    let mut response = Response::new(made.bytes.into());
    *response.headers_mut() = made.described;
    about.put_found(cache, response.headers_mut());
    Ok(response)
}

/// The contents of an answer's headers, except those that describe the symbol.
struct About {
    format: Format,
    tag: HeaderValue,
    by_accept: bool,
    filename: Option<String>,
}

impl About {
    /// Inserts the headers of a picture.
    fn put_found(self, cache: HeaderValue, headers: &mut HeaderMap) {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.format.content_type()));
        headers.insert(CACHE_CONTROL, cache);
        if self.format == Format::Svg {
            headers.insert(CONTENT_SECURITY_POLICY, SVG_POLICY);
        }
        self.put_choice(headers);
        headers.insert(ETAG, self.tag);
    }

    /// Inserts the headers that a picture and a 304 have in common.
    fn put_choice(&self, headers: &mut HeaderMap) {
        if let Some(value) = self.filename.as_deref().and_then(disposition) {
            headers.insert(CONTENT_DISPOSITION, value);
        }
        if self.by_accept {
            headers.insert(VARY, const { HeaderValue::from_static("Accept") });
        }
    }
}

/// A picture, and the headers that describe its symbol.
pub(super) struct PictureFile {
    pub(super) bytes: Vec<u8>,
    pub(super) described: HeaderMap,
}

/// Makes the picture: on this thread if that takes less than a millisecond, else on a worker.
async fn make(api: &Api, plan: Plan) -> Result<PictureFile, Refusal> {
    let made = if is_short(&plan) {
        catch_unwind(AssertUnwindSafe(|| make_unless_slow_to_check(&plan))).unwrap_or_else(|_| {
            tracing::error!("a picture of the API panicked");
            Some(Err(Refusal::Internal))
        })
    } else {
        None
    };
    match made {
        Some(made) => made,
        None => api.pool.run(move || make_here(&plan, true)).await?,
    }
}

/// Whether the symbol is quick to encode and the picture quick to draw. The check may still be slow.
fn is_short(plan: &Plan) -> bool {
    let is_smallest =
        matches!(plan.picture, PicturePlan::Png { compression: Compression::Smallest, .. });
    let is_png = matches!(plan.picture, PicturePlan::Png { .. });
    let has_letters = plan.caption.is_some() && is_png;
    let is_plain = plan.look.is_plain() && !is_smallest && !has_letters;
    plan.content.as_bytes().len() <= SHORT_BYTES && is_plain
}

/// Encodes the symbol and makes its picture, unless the check of the picture is slow: then `None`.
fn make_unless_slow_to_check(plan: &Plan) -> Option<Result<PictureFile, Refusal>> {
    match encode(plan) {
        Ok(encoded) if verify::checked_px(plan, &encoded.symbol) > QUICK_PX => None,
        Ok(encoded) => Some(finish(plan, &encoded, None, true)),
        Err(fault) => Some(Err(unprocessable(fault))),
    }
}

/// Makes the picture on this thread, and checks it if it `is_new`. Fails if the picture cannot be made or cannot be
/// read.
pub(super) fn make_here(plan: &Plan, is_new: bool) -> Result<PictureFile, Refusal> {
    let logo = plan.look.logo.as_ref().map(|logo| logo::decode(&logo.file.0)).transpose();
    let logo = logo.map_err(|fault| Refusal::Parameters(vec![fault]))?;
    let encoded = encode(plan).map_err(unprocessable)?;
    finish(plan, &encoded, logo.as_ref().map(|logo| logo as &dyn LogoPixels), is_new)
}

/// Draws a symbol, and checks the picture if it `is_new`.
fn finish(
    plan: &Plan,
    encoded: &Encoded,
    logo: Option<&dyn LogoPixels>,
    is_new: bool,
) -> Result<PictureFile, Refusal> {
    let art = Artwork::of(plan, encoded, logo);
    let mut bytes = draw(plan, encoded, art.as_ref()).map_err(unprocessable)?;
    if is_new && verify::is_needed(plan, &encoded.symbol) {
        verify::check(plan, encoded, art.as_ref()).map_err(unprocessable)?;
    }
    if let (Some(caption), PicturePlan::Png { fit, colors, .. }) = (&plan.caption, &plan.picture) {
        bytes =
            add_caption(plan, encoded, caption, *fit, *colors, &bytes).map_err(unprocessable)?;
    }
    Ok(PictureFile { bytes, described: describe(plan, encoded) })
}

/// Adds the caption to a PNG, on the frame if there is one.
fn add_caption(
    plan: &Plan,
    encoded: &Encoded,
    caption: &str,
    fit: Fit,
    Colors { dark, light }: Colors,
    png: &[u8],
) -> Result<Vec<u8>, Fault> {
    let modules = encoded.symbol.modules().width() as u32 + 2 * plan.margin;
    let width_px = size_px(fit, modules)?;
    let (width, module) = (width_px as usize, (width_px / modules) as usize);
    let missing = plan.symbol.kind().quiet_zone().saturating_sub(plan.margin);
    let color = if plan.look.frame.is_some() { over_white(light) } else { dark };
    let behind = |x: usize, y: usize, height: usize| {
        let of = |frame: Frame| frame.cover((x, width + y), (width, width + height), module);
        let cover = plan.look.frame.map_or(0.0, of);
        between(light, dark, (cover * f64::from(STEPS)).round() as u8)
    };
    Letters::line(caption, width_px as f32, color)?.below(png, behind, missing * module as u32)
}

pub(super) fn unprocessable(fault: Fault) -> Refusal {
    Refusal::Unprocessable(vec![fault])
}
