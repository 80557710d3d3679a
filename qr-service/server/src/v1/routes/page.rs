//! The playground at `/v1/`, Swagger UI with the OpenAPI document at `/v1/docs`, and the files of both. The files are
//! embedded in the program and load nothing from other hosts.

use axum::body::Body;
use axum::extract::{Path, Request};
use axum::response::{IntoResponse, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
};
use http::{HeaderValue, Method};

use crate::v1::fault::Refusal;

/// Allows only files of this server, pictures that the page has fetched, and the icons in the viewer's style sheet.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src \
    'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

const INDEX: &str = include_str!("../../../../api/page/index.html");
const DOCS: &str = include_str!("../../../../api/page/docs.html");
/// Name, media type and content of each file.
const ASSETS: [(&str, &str, &str); 8] = [
    ("docs.js", SCRIPT, include_str!("../../../../api/page/docs.js")),
    ("form.js", SCRIPT, include_str!("../../../../api/page/form.js")),
    ("grade.js", SCRIPT, include_str!("../../../../api/page/grade.js")),
    ("icon.svg", "image/svg+xml", include_str!("../../../../api/page/icon.svg")),
    ("looks.js", SCRIPT, include_str!("../../../../api/page/looks.js")),
    ("page.css", STYLE, include_str!("../../../../api/page/page.css")),
    ("playground.js", SCRIPT, include_str!("../../../../api/page/playground.js")),
    ("snippets.js", SCRIPT, include_str!("../../../../api/page/snippets.js")),
];

/// The same for Swagger UI, whose files build.rs has compressed. They are empty if the program was built without it.
const VIEWER: [(&str, &str, &[u8]); 3] = [
    ("bundle.js", SCRIPT, include_bytes!(concat!(env!("OUT_DIR"), "/bundle.js.gz"))),
    ("style.css", STYLE, include_bytes!(concat!(env!("OUT_DIR"), "/style.css.gz"))),
    ("notices.txt", TEXT, include_bytes!(concat!(env!("OUT_DIR"), "/notices.txt.gz"))),
];

/// Answers `/v1/`.
pub(super) async fn index(request: Request) -> Response {
    serve(&request, HTML, INDEX)
}

/// Answers `/v1/docs`.
pub(super) async fn docs(request: Request) -> Response {
    serve(&request, HTML, DOCS)
}

/// Answers `/v1/assets/NAME`.
pub(super) async fn asset(Path(name): Path<String>, request: Request) -> Response {
    match ASSETS.iter().find(|(asset, ..)| *asset == name) {
        Some((_, media, content)) => serve(&request, media, *content),
        None => Refusal::NotFound.into_response(),
    }
}

/// Answers `/v1/assets/swagger-ui/NAME`.
pub(super) async fn viewer(Path(name): Path<String>, request: Request) -> Response {
    let file = VIEWER.iter().find(|(file, _, packed)| *file == name && !packed.is_empty());
    let Some((_, media, packed)) = file else { return Refusal::NotFound.into_response() };
    let mut response = serve(&request, media, *packed);
    if response.status().is_success() {
        // Without checking `Accept-Encoding`, because every browser accepts gzip.
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// Answers with a page or one of its files.
pub(super) fn serve(request: &Request, media: &'static str, content: impl Into<Body>) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Refusal::Method("GET, HEAD").into_response();
    }
    let headers = [
        (CONTENT_TYPE, media),
        (CACHE_CONTROL, "public, max-age=300"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
    ];
    (headers, content.into()).into_response()
}
