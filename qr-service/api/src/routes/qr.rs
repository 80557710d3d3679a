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
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Map, Value};
use service_kit::{is_known, not_modified};

use super::Api;
use super::bodies::read_options;
use crate::artwork::{Artwork, LogoPixels};
use crate::described::Described;
use crate::fault::{Code, Fault, Problem, Refusal};
use crate::head::Head;
use crate::headers::{accept_of, accepted, disposition, tag};
use crate::logo;
use crate::options::{Compression, Format, Options};
use crate::parameters::{Schema, read_query};
use crate::picture::{SymbolData, draw};
use crate::plan::{Colors, Fit, PicturePlan, Plan, plan_of};
use crate::symbol::encode;
use crate::verify;

/// Of pictures that a query asked for.
pub(super) const CACHE: HeaderValue = HeaderValue::from_static("public, max-age=86400");
pub(super) const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
/// An SVG can hold scripts; ours has none, and with this no browser would run them.
/// A logo is in the SVG itself.
const SVG_POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; img-src data:; sandbox");

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
    let is_get = matches!(parts.method, Method::GET | Method::HEAD);
    let right = parts.uri.query().filter(|_| is_get).and_then(|it| api.options.read_right(it));
    let options = match right {
        Some(options) => options,
        None => {
            let values = read_values(&parts, body, &[&*api.options], &mut faults).await?;
            api.options.read(&values, &mut faults).unwrap_or_default()
        }
    };
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
    let (plan, about) = asked(options, of_path, || accept_of(&parts.headers), faults)?;
    let is_post = parts.method == Method::POST;
    let cache = if is_post { NO_STORE } else { CACHE };
    let known = HeaderValue::from_bytes(&about.tag).ok();
    let known = known.filter(|tag| !is_post && is_known(&parts.headers, tag));
    if let Some(tag) = known {
        let mut response = not_modified(&parts.method, tag, cache);
        about.put_choice(response.headers_mut());
        return Ok(response);
    }
    let made = make(api, plan).await?;
    // With room for those that the layers add.
    let mut headers = HeaderMap::with_capacity(24);
    about.put_found(&made, cache, &mut headers);
    let mut response = Response::new(made.bytes.into());
    *response.headers_mut() = headers;
    Ok(response)
}

/// What the headers of an answer say, besides the symbol.
pub(super) struct About {
    format: Format,
    tag: [u8; 18],
    by_accept: bool,
    filename: Option<String>,
}

/// The picture that is asked for. `accept` has the values of this header, `faults` are those found so far.
///
/// # Errors
/// If no format is accepted, or the options are wrong.
pub(super) fn asked<'a, I: Iterator<Item = &'a [u8]>>(
    options: Options,
    of_path: Option<Format>,
    accept: impl Fn() -> I,
    faults: Vec<Fault>,
) -> Result<(Plan, About), Refusal> {
    let chosen = of_path.or(options.format);
    let format = chosen.or_else(|| accepted(accept)).ok_or(Refusal::NotAcceptable)?;
    let filename = options.filename.clone();
    let plan = plan_of(options, format, faults).map_err(Refusal::Parameters)?;
    let about = About { format, tag: tag(&plan), by_accept: chosen.is_none(), filename };
    Ok((plan, about))
}

impl About {
    /// The headers of the picture.
    pub(super) fn put_found(&self, made: &Made, cache: HeaderValue, head: &mut impl Head) {
        made.described.put(head);
        head.put(CONTENT_TYPE, HeaderValue::from_static(self.format.content_type()));
        head.put_number(CONTENT_LENGTH, made.bytes.len());
        head.put(CACHE_CONTROL, cache);
        head.put_bytes(ETAG, &self.tag);
        if self.format == Format::Svg {
            head.put(CONTENT_SECURITY_POLICY, SVG_POLICY);
        }
        self.put_choice(head);
    }

    /// The headers that the picture and a 304 have.
    fn put_choice(&self, head: &mut impl Head) {
        if let Some(value) = self.filename.as_deref().and_then(disposition) {
            head.put(CONTENT_DISPOSITION, value);
        }
        // Last, as one more may follow for an origin, and a map of headers keeps those together.
        if self.by_accept {
            head.put(VARY, const { HeaderValue::from_static("Accept") });
        }
    }
}

/// A picture, and what its headers say of the symbol.
pub(super) struct Made {
    pub(super) bytes: Vec<u8>,
    pub(super) described: Described,
}

/// Whether making a picture is as quick as one of `/qrcode`, so that the thread that serves does it.
pub(super) fn is_quick(plan: &Plan) -> bool {
    plan.content.as_bytes().len() <= SHORT_BYTES
        && plan.look.is_plain()
        && matches!(&plan.picture, PicturePlan::Png { colors, .. } | PicturePlan::Svg { colors, .. }
            if *colors == Colors::PLAIN)
        && !matches!(
            &plan.picture,
            PicturePlan::Svg { fit: Some(Fit::Size(_)), .. }
                | PicturePlan::Png { compression: Compression::Smallest, .. }
        )
}

/// Makes the picture: on this thread if that is quick, else on a worker.
async fn make(api: &Api, plan: Plan) -> Result<Made, Refusal> {
    if !is_quick(&plan) {
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
    let logo = plan.look.logo.as_ref().map(|logo| logo::decode(&logo.file)).transpose();
    let logo = logo.map_err(|fault| Refusal::Parameters(vec![fault]))?;
    let encoded = encode(plan).map_err(refuse)?;
    let art = Artwork::of(plan, &encoded, logo.as_ref().map(|logo| logo as &dyn LogoPixels));
    let bytes = draw(plan, &encoded, art.as_ref()).map_err(refuse)?;
    if is_new && verify::is_needed(plan, &encoded.symbol) {
        verify::check(plan, &encoded, art.as_ref()).map_err(refuse)?;
    }
    Ok(Made { bytes, described: Described::of(plan, &encoded) })
}
