//! Compares the chosen headers of two answers.

use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_TYPE, ETAG, SET_COOKIE, VARY,
    WWW_AUTHENTICATE,
};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::judge::difference::{DifferenceList, Kind, shortened};

/// Adds a difference for each header of `names` whose values differ. A header that both answers lack is equal.
pub(crate) fn compare(
    names: &[HeaderName],
    old: &HeaderMap,
    new: &HeaderMap,
    found: &mut DifferenceList,
) {
    for name in names.iter().filter(|name| !is_equal(name, old, new)) {
        let shown = |headers| match combined(name, headers) {
            Some(value) => format!("`{}`", shortened(&String::from_utf8_lossy(&value))),
            None => "absent".to_owned(),
        };
        found.add(&Kind::Header, name.as_str(), || {
            let detail = format!("{name}: old {}, new {}", shown(old), shown(new));
            (name.to_string(), detail)
        });
    }
}

fn is_equal(name: &HeaderName, old: &HeaderMap, new: &HeaderMap) -> bool {
    if *name == SET_COOKIE {
        // Set-Cookie is the only header whose lines cannot be combined (RFC 9110, 5.3).
        return cookies(old) == cookies(new);
    }
    match (combined(name, old), combined(name, new)) {
        (Some(old), Some(new)) if old == new => true,
        // Each side makes its own tags.
        (old, new) if *name == ETAG => old.is_some() == new.is_some(),
        (Some(old), Some(new)) if [CONTENT_TYPE, CONTENT_DISPOSITION].contains(name) => {
            content_type(&old) == content_type(&new)
        }
        (Some(old), Some(new)) if is_list(name) => members(&old) == members(&new),
        (old, new) => old == new,
    }
}

/// Whether the header is a list without an order whose members ignore case. Codings have an order, but nobody applies
/// the same two in another one.
fn is_list(name: &HeaderName) -> bool {
    [CACHE_CONTROL, VARY, CONTENT_ENCODING, WWW_AUTHENTICATE].contains(name)
        || name.as_str().starts_with("access-control-")
}

/// The members of a list in lower case, sorted. A challenge's `nonce` and `opaque` differ each time, so only their
/// names count.
fn members(value: &[u8]) -> Vec<Vec<u8>> {
    let member = |part: &[u8]| {
        let mut part = part.trim_ascii().to_ascii_lowercase();
        for name in [&b"nonce="[..], b"opaque="] {
            let at = part.windows(name.len()).position(|it| it == name);
            part.truncate(at.map_or(part.len(), |at| at + name.len()));
        }
        part
    };
    let mut members: Vec<_> = split_outside_quotes(value, b',')
        .into_iter()
        .map(member)
        .filter(|it| !it.is_empty())
        .collect();
    members.sort();
    members.dedup();
    members
}

/// The name and the attributes of each cookie, sorted. Its value is mostly a token that differs each time, and so are
/// dates; but an empty value removes the cookie.
fn cookies(headers: &HeaderMap) -> Vec<(Vec<u8>, bool, Vec<Vec<u8>>)> {
    let cookie = |line: &HeaderValue| {
        let mut parts = line.as_bytes().split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let pair = parts.next().unwrap_or_default();
        let end = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
        let mut attributes: Vec<Vec<u8>> =
            parts.filter(|part| !part.is_empty()).map(attribute).collect();
        attributes.sort();
        (pair[..end].to_vec(), pair.len() > end + 1, attributes)
    };
    let mut cookies: Vec<_> = headers.get_all(SET_COOKIE).iter().map(cookie).collect();
    cookies.sort();
    cookies
}

/// An attribute with its name in lower case, without a date, and with the value in lower case unless it is a path.
fn attribute(part: &[u8]) -> Vec<u8> {
    let lower = part.to_ascii_lowercase();
    match () {
        () if lower.starts_with(b"expires=") => b"expires".to_vec(),
        () if lower.starts_with(b"path=") => [b"path=", &part[5..]].concat(),
        () => lower,
    }
}

/// The header's lines as one value (RFC 9110, 5.3); `None` without the header.
pub(crate) fn combined(name: &HeaderName, headers: &HeaderMap) -> Option<Vec<u8>> {
    let lines: Vec<&[u8]> = headers.get_all(name).iter().map(HeaderValue::as_bytes).collect();
    (!lines.is_empty()).then(|| lines.join(&b", "[..]))
}

/// A parameter's name and its value.
type Parameter = (Vec<u8>, Vec<u8>);

/// A Content-Type in a normal form (RFC 9110, 8.3.1): the media type, the names of parameters and the value of
/// `charset` in lower case, values without quotes, no optional whitespace, and parameters sorted, because their order
/// means nothing. A redundant `charset` is left out: UTF-8 for JSON, which has no other (RFC 8259, 8.1), and any for a
/// type that is not text.
fn content_type(value: &[u8]) -> (Vec<u8>, Vec<Parameter>) {
    let mut parts = split_outside_quotes(value, b';').into_iter();
    let media_type = parts.next().unwrap_or_default().trim_ascii().to_ascii_lowercase();
    let mut parameters: Vec<_> = parts
        .map(<[u8]>::trim_ascii)
        .filter(|part| !part.is_empty())
        .map(|part| {
            let end = part.iter().position(|&b| b == b'=').unwrap_or(part.len());
            let name = part[..end].trim_ascii().to_ascii_lowercase();
            let mut value = unquoted(part.get(end + 1..).unwrap_or_default().trim_ascii());
            if name == b"charset" {
                value.make_ascii_lowercase();
            }
            (name, value)
        })
        .filter(|(name, value)| name != b"charset" || is_charset_said(&media_type, value))
        .collect();
    parameters.sort();
    (media_type, parameters)
}

/// Whether this charset, in lower case, means something for the media type.
fn is_charset_said(media_type: &[u8], charset: &[u8]) -> bool {
    let is_json = media_type == b"application/json" || media_type.ends_with(b"+json");
    let no_text: [&[u8]; 4] = [b"image/", b"audio/", b"video/", b"font/"];
    // `image/svg+xml` is text.
    let is_text =
        media_type.ends_with(b"+xml") || !no_text.iter().any(|it| media_type.starts_with(it));
    is_text && !(is_json && charset == b"utf-8")
}

/// Splits at each separator that is not in a quoted string.
fn split_outside_quotes(value: &[u8], separator: u8) -> Vec<&[u8]> {
    let (mut quoted, mut escaped) = (false, false);
    value
        .split(|&byte| {
            let splits = byte == separator && !quoted;
            match byte {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                _ => {}
            }
            splits
        })
        .collect()
}

/// The content of a quoted string; anything else as it is.
fn unquoted(value: &[u8]) -> Vec<u8> {
    let Some(inner) = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) else {
        return value.to_vec();
    };
    let mut bytes = inner.iter();
    let mut content = Vec::with_capacity(inner.len());
    while let Some(&byte) = bytes.next() {
        let escaped = if byte == b'\\' { bytes.next() } else { None };
        content.push(escaped.copied().unwrap_or(byte));
    }
    content
}
