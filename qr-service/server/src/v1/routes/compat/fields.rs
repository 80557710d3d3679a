//! Reads parameters as other services do: from the query, a form or both, as bytes, including unknown ones.

use axum::body::Body;
use base64::Engine as _;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Uri};
use percent_encoding::percent_decode;

use super::super::bodies::{in_time, read_form, read_whole};
use crate::v1::fault::Refusal;

/// The most parameters that are read; further ones are ignored.
const MAX_PARAMETERS: usize = 100;

/// Whether `+` is a space in a query.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Plus {
    IsSpace,
    Stays,
}

/// Names and values in their order.
#[derive(Clone, Default)]
pub(super) struct Fields(Vec<(String, Vec<u8>)>);

impl Fields {
    /// Reads a query, or a form of the type `application/x-www-form-urlencoded`. A `%` without two digits stays.
    pub(super) fn of_query(query: &[u8], plus: Plus) -> Self {
        let decode = |part: &[u8]| -> Vec<u8> {
            let spaced: Vec<u8> = match plus {
                Plus::IsSpace => part.iter().map(|b| if *b == b'+' { b' ' } else { *b }).collect(),
                Plus::Stays => part.to_vec(),
            };
            percent_decode(&spaced).collect()
        };
        let pairs = query.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty());
        let pair = |pair: &[u8]| {
            let end = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
            let name = String::from_utf8_lossy(&decode(&pair[..end])).into_owned();
            (name, decode(pair.get(end + 1..).unwrap_or_default()))
        };
        Fields(pairs.take(MAX_PARAMETERS).map(pair).collect())
    }

    /// Reads the query of a URI.
    pub(super) fn of_uri(uri: &Uri, plus: Plus) -> Self {
        Fields::of_query(uri.query().unwrap_or_default().as_bytes(), plus)
    }

    /// Reads a body that is a form of either type, up to `limit` bytes. `None` if it is not a form. Fails if it is too
    /// long, slow or damaged.
    pub(super) async fn of_body(
        headers: &HeaderMap,
        body: Body,
        limit: usize,
    ) -> Result<Option<Self>, Refusal> {
        let media = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
        if multer::parse_boundary(media).is_ok() {
            let fields = in_time(read_form(media, body, limit, limit)).await?;
            let pairs = fields.into_iter().map(|field| (field.name, field.bytes.to_vec()));
            return Ok(Some(Fields(pairs.take(MAX_PARAMETERS).collect())));
        }
        let plain = media.split(';').next().unwrap_or_default().trim();
        if !plain.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Ok(None);
        }
        let bytes: Bytes = in_time(read_whole(body, limit)).await?;
        Ok(Some(Fields::of_query(&bytes, Plus::IsSpace)))
    }

    pub(super) fn first(&self, name: &str) -> Option<&[u8]> {
        self.0.iter().find(|(it, _)| it == name).map(|(_, value)| &value[..])
    }

    /// The first value of a parameter as text, unless it is empty.
    pub(super) fn given(&self, name: &str) -> Option<&str> {
        self.first(name).filter(|value| !value.is_empty()).map(text)
    }

    pub(super) fn last(&self, name: &str) -> Option<&[u8]> {
        self.0.iter().rev().find(|(it, _)| it == name).map(|(_, value)| &value[..])
    }

    /// The names, each as often as it was given.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }

    pub(super) fn push(&mut self, name: &str, value: impl Into<Vec<u8>>) {
        self.0.push((name.to_owned(), value.into()));
    }

    /// These parameters, then `others`.
    pub(super) fn then(mut self, others: Fields) -> Self {
        self.0.extend(others.0);
        self
    }
}

/// A value as text, for parameters other than the text to encode. Bytes that are not UTF-8 become U+FFFD, which is not
/// valid in any of them.
pub(super) fn text(value: &[u8]) -> &str {
    std::str::from_utf8(value).unwrap_or("\u{fffd}")
}

/// A text in ISO-8859-1; `None` if that lacks some of its characters.
pub(super) fn latin1(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|c| u8::try_from(c).ok()).collect()
}

/// Bytes in Base64, for a data URI.
pub(super) fn base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
