//! `/v1/qr`: a symbol with every option, by `GET` (query) or `POST` (JSON).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    ETAG, VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use qr_core::Level;
use serde_json::{Map, Value};
use service_kit::{is_known, not_modified};

use super::Api;
use super::bodies::read_options;
use crate::artwork::{Artwork, LogoPixels};
use crate::fault::{Code, Fault, Problem, Refusal};
use crate::headers::{accepted, disposition, tag};
use crate::logo::Logo;
use crate::options::{Format, Options};
use crate::parameters::{Schema, read_query};
use crate::picture::{SymbolData, draw};
use crate::plan::{PicturePlan, Plan, plan_of};
use crate::symbol::{AnySymbol, Encoded, encode};
use crate::verify;

/// Of pictures that a query asked for.
const CACHE: HeaderValue = HeaderValue::from_static("public, max-age=86400");
pub(super) const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
/// An SVG can hold scripts; ours has none, and with this no browser would run them.
/// A logo is in the SVG itself.
const SVG_POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; img-src data:; sandbox");

// As constants they are checked and hashed once, by the compiler.
const X_QR_KIND: HeaderName = HeaderName::from_static("x-qr-kind");
const X_QR_VERSION: HeaderName = HeaderName::from_static("x-qr-version");
const X_QR_LEVEL: HeaderName = HeaderName::from_static("x-qr-level");
const X_QR_MASK: HeaderName = HeaderName::from_static("x-qr-mask");
const X_QR_MODULES: HeaderName = HeaderName::from_static("x-qr-modules");
const X_QR_PARTS: HeaderName = HeaderName::from_static("x-qr-parts");
const X_QR_UNUSED_CORRECTION: HeaderName = HeaderName::from_static("x-qr-unused-correction");

/// The longest content that is encoded on the thread that serves, as `/qrcode` does with its own.
const SHORT_BYTES: usize = 512;

/// Answers `/v1/qr`, in the format of the parameter or of `Accept`.
#[utoipa::path(
    get, path = "/v1/qr", operation_id = "qr", tag = "qr",
    responses(
        (status = 200, description = "The picture", content((Vec<u8> = "image/png"),
            (String = "image/svg+xml"), (Vec<u8> = "application/pdf"), (String = "application/postscript"),
            (String = "text/plain"), (SymbolData = "application/json"))),
        (status = 304, description = "The client has it"),
        (status = 400, description = "Wrong parameters", body = Problem, content_type = "application/problem+json"),
        (status = 406, description = "Accept has none of the formats", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The data do not fit, or nobody could read the picture", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "All workers are busy", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn negotiated(State(api): State<Arc<Api>>, request: Request) -> Response {
    answer(&api, request, None).await.unwrap_or_else(IntoResponse::into_response)
}

/// Answers `/v1/qr.EXT`, in the extension's format.
#[utoipa::path(
    get, path = "/v1/qr.{extension}", operation_id = "qr_file", tag = "qr",
    params(("extension" = String, Path, description = "The format")),
    responses(
        (status = 200, description = "The picture"),
        (status = 304, description = "The client has it"),
        (status = 400, description = "Wrong parameters", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "No such format", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The data do not fit, or nobody could read the picture", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "All workers are busy", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn by_extension(
    State(api): State<Arc<Api>>,
    Path(path): Path<String>,
    request: Request,
) -> Response {
    let format = path.strip_prefix("qr.").and_then(Format::of_extension);
    let answered = match format {
        Some(format) => answer(&api, request, Some(format)).await,
        None => Err(Refusal::NotFound),
    };
    answered.unwrap_or_else(IntoResponse::into_response)
}

async fn answer(api: &Api, request: Request, of_path: Option<Format>) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let mut faults = Vec::new();
    let values = read_values(&parts, body, &[&*api.options], &mut faults).await?;
    let options = api.options.read(&values, &mut faults).unwrap_or_default();
    serve(api, &parts, of_path, options, faults).await
}

/// Reads the parameters of a query, or with POST those of a JSON object or a form.
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
                let detail = "with POST all parameters are in the body";
                faults.push(Fault::new(name, Code::Contradictory, detail));
            }
            read_options(&parts.headers, body, schemas, faults).await
        }
        _ => Err(Refusal::Method("GET, HEAD, POST")),
    }
}

/// Answers with the picture that the options ask for. `faults` are those found so far.
pub(super) async fn serve(
    api: &Api,
    parts: &Parts,
    of_path: Option<Format>,
    options: Options,
    faults: Vec<Fault>,
) -> Result<Response, Refusal> {
    let by_accept = of_path.is_none() && options.format.is_none();
    let format = match of_path.or(options.format) {
        Some(format) => format,
        None => accepted(&parts.headers).ok_or(Refusal::NotAcceptable)?,
    };
    let filename = options.filename.clone();
    let plan = plan_of(options, format, faults).map_err(Refusal::Parameters)?;
    let is_post = parts.method == Method::POST;
    let cache = if is_post { NO_STORE } else { CACHE };
    let tag = tag(&plan);
    let mut response = if !is_post && is_known(&parts.headers, &tag) {
        not_modified(&parts.method, tag, cache)
    } else {
        let picture = make(api, plan).await?;
        found(picture, format, tag, cache)
    };
    let headers = response.headers_mut();
    if by_accept {
        headers.append(VARY, HeaderValue::from_static("Accept"));
    }
    if let Some(value) = filename.as_deref().and_then(disposition) {
        headers.insert(CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

/// A picture, and the headers that describe its symbol.
pub(super) struct Made {
    pub(super) bytes: Vec<u8>,
    pub(super) described: HeaderMap,
}

/// Makes the picture: on this thread if that is as quick as a picture of `/qrcode`, else on a worker.
async fn make(api: &Api, plan: Plan) -> Result<Made, Refusal> {
    let is_quick = plan.content.as_bytes().len() <= SHORT_BYTES
        && plan.look.is_plain()
        && matches!(&plan.picture, PicturePlan::Png { colors, .. } | PicturePlan::Svg { colors, .. }
            if *colors == crate::plan::Colors::PLAIN)
        && !matches!(&plan.picture, PicturePlan::Svg { fit: Some(crate::plan::Fit::Size(_)), .. });
    if !is_quick {
        return api.pool.run(move || make_here(&plan)).await?;
    }
    catch_unwind(AssertUnwindSafe(|| make_here(&plan))).unwrap_or_else(|_| {
        tracing::error!("a picture of the API panicked");
        Err(Refusal::Internal)
    })
}

/// Makes the picture and checks it.
///
/// # Errors
/// Why there is none, or nobody could read it.
pub(super) fn make_here(plan: &Plan) -> Result<Made, Refusal> {
    make_picture(plan, true)
}

/// Makes a picture that was checked before.
///
/// # Errors
/// As [`make_here`].
pub(super) fn remake_here(plan: &Plan) -> Result<Made, Refusal> {
    make_picture(plan, false)
}

fn make_picture(plan: &Plan, is_new: bool) -> Result<Made, Refusal> {
    let refuse = |fault| Refusal::Unprocessable(vec![fault]);
    let logo = plan.look.logo.as_ref().map(|logo| Logo::decode(&logo.file)).transpose();
    let logo = logo.map_err(|fault| Refusal::Parameters(vec![fault]))?;
    let encoded = encode(plan).map_err(refuse)?;
    let art = Artwork::of(plan, &encoded, logo.as_ref().map(|logo| logo as &dyn LogoPixels));
    let bytes = draw(plan, &encoded, art.as_ref()).map_err(refuse)?;
    if is_new && verify::is_needed(plan, &encoded.symbol) {
        verify::check(plan, &encoded.symbol, art.as_ref()).map_err(refuse)?;
    }
    Ok(Made { bytes, described: describe(plan, &encoded) })
}

/// The headers that describe the symbol, with room for those of the answer.
fn describe(plan: &Plan, encoded: &Encoded) -> HeaderMap {
    let symbol = &encoded.symbol;
    let modules = symbol.modules();
    let mut headers = HeaderMap::with_capacity(24);
    let mut put = |name: HeaderName, value: Option<HeaderValue>| {
        if let Some(value) = value {
            headers.insert(name, value);
        }
    };
    let version = match symbol {
        AnySymbol::Qr(symbol) => Some(HeaderValue::from(u16::from(symbol.version()))),
        _ => HeaderValue::try_from(symbol.version()).ok(),
    };
    put(X_QR_KIND, Some(HeaderValue::from_static(plan.symbol.kind().as_str())));
    put(X_QR_VERSION, version);
    put(X_QR_LEVEL, symbol.level().map(|level| HeaderValue::from_static(name_of(level))));
    put(X_QR_MASK, symbol.mask().map(|mask| HeaderValue::from(u16::from(mask))));
    put(X_QR_MODULES, HeaderValue::from_bytes(&size_text(modules.width(), modules.height())).ok());
    put(X_QR_PARTS, Some(HeaderValue::from(encoded.parts)));
    let unused = match encoded.unused_correction() {
        Some(1.0) => Some(HeaderValue::from_static("1")),
        unused => unused.and_then(|unused| HeaderValue::try_from(format!("{unused:.2}")).ok()),
    };
    put(X_QR_UNUSED_CORRECTION, unused);
    headers
}

fn name_of(level: Level) -> &'static str {
    match level {
        Level::L => "L",
        Level::M => "M",
        Level::Q => "Q",
        Level::H => "H",
    }
}

/// `29x29`, of numbers below 1000, without the cost of `format!`.
fn size_text(width: usize, height: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(8);
    for number in [width, height] {
        if !text.is_empty() {
            text.push(b'x');
        }
        for power in [100, 10, 1] {
            if number >= power {
                text.push(b'0' + (number / power % 10) as u8);
            }
        }
    }
    text
}

fn found(made: Made, format: Format, tag: HeaderValue, cache: HeaderValue) -> Response {
    let len = made.bytes.len();
    let mut response = Response::new(made.bytes.into());
    *response.headers_mut() = made.described;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(len));
    headers.insert(CACHE_CONTROL, cache);
    headers.insert(ETAG, tag);
    if format == Format::Svg {
        headers.insert(CONTENT_SECURITY_POLICY, SVG_POLICY);
    }
    response
}
