//! Swagger UI, which shows the description at `/v1/docs`. Its files come from its npm package and are in the program
//! as build.rs found them, compressed; a program that was built without the package has none.

use axum::body::Bytes;
use axum::extract::{Path, Request};
use axum::response::{IntoResponse, Response};
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, VARY};
use http::{HeaderMap, HeaderValue};
use miniz_oxide::inflate::decompress_to_vec;

use super::page::serve;
use crate::fault::Refusal;

const BUNDLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bundle.js.gz"));
const STYLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/style.css.gz"));
const NOTICES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/notices.txt.gz"));

/// Bytes before and after the compressed data of a gzip file without a name.
const HEAD: usize = 10;
const TAIL: usize = 8;

/// Whether this program has the viewer.
pub(super) const IS_HERE: bool = !BUNDLE.is_empty() && !STYLE.is_empty();

/// Answers `/v1/assets/swagger-ui/NAME`.
pub(super) async fn get(Path(name): Path<String>, request: Request) -> Response {
    let (media, packed) = match name.as_str() {
        "bundle.js" => ("text/javascript; charset=utf-8", BUNDLE),
        "style.css" => ("text/css; charset=utf-8", STYLE),
        "notices.txt" => ("text/plain; charset=utf-8", NOTICES),
        _ => return Refusal::NotFound.into_response(),
    };
    if packed.is_empty() {
        return Refusal::NotFound.into_response();
    }
    let takes_gzip = takes_gzip(request.headers());
    let content = match takes_gzip {
        true => Bytes::from_static(packed),
        // Nearly no client; what was packed here unpacks.
        false => decompress_to_vec(&packed[HEAD..packed.len() - TAIL]).unwrap_or_default().into(),
    };
    let mut response = serve(&request, media, content);
    if response.status().is_success() {
        let headers = response.headers_mut();
        headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
        if takes_gzip {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
    }
    response
}

/// Whether `Accept-Encoding` names gzip, or all, with a weight above 0.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter();
    let mut codings = values.filter_map(|value| value.to_str().ok()).flat_map(|it| it.split(','));
    codings.any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| {
            name == "*" || name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip")
        });
        let weight = parts.find_map(|part| part.strip_prefix("q=").map(str::parse::<f32>));
        is_gzip && !matches!(weight, Some(Ok(weight)) if weight <= 0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_to_those_who_take_it() {
        for (accept, takes) in [
            ("gzip, deflate, br", true),
            ("br;q=1.0, gzip;q=0.5", true),
            ("*", true),
            ("GZIP", true),
            ("gzip;q=0", false),
            ("identity", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(accept));
            assert_eq!(takes_gzip(&headers), takes, "{accept}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }
}
