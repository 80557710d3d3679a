//! Headers of pictures: entity tags, caching, `Accept`, downloads.

use std::fmt::Write as _;
use std::hash::{Hash, Hasher};

use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue};
use xxhash_rust::xxh3::xxh3_64;

use crate::options::Format;
use crate::plan::Plan;

/// The version of this crate's pictures beside `qr_core::OUTPUT_VERSION`.
const OUTPUT_VERSION: u32 = 6;

/// The strong tag of a plan's picture: equal for all ways to ask for it, another in each version of the
/// output.
pub(crate) fn tag(plan: &Plan) -> [u8; 18] {
    let mut hasher = Collected(Vec::with_capacity(256));
    (qr_core::OUTPUT_VERSION, OUTPUT_VERSION).hash(&mut hasher);
    // So that two builds whose types are laid out otherwise have different tags.
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    plan.hash(&mut hasher);
    let hash = hasher.finish();
    let mut tag = [b'"'; 18];
    for (digit, shift) in tag[1..17].iter_mut().zip((0..16).rev()) {
        *digit = b"0123456789abcdef"[(hash >> (4 * shift) & 15) as usize];
    }
    tag
}

/// Collects what a plan writes, in many small pieces, and hashes it as one.
struct Collected(Vec<u8>);

impl Hasher for Collected {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        xxh3_64(&self.0)
    }
}

/// The format that `Accept` likes best (RFC 9110 section 12.5.1); the earlier of [`Format::ALL`] among
/// equals. `values` are those of the header; without one it is PNG. `None` if it accepts none.
pub(crate) fn accepted<'a, I: Iterator<Item = &'a [u8]>>(values: impl Fn() -> I) -> Option<Format> {
    // Most clients that are no browser.
    if values().all(|value| value == b"*/*") {
        return Some(Format::Png);
    }
    let mut ranges = Vec::new();
    for value in values().filter(|value| value.is_ascii()) {
        let value = std::str::from_utf8(value).unwrap_or_default();
        ranges.extend(value.split(',').filter_map(range));
    }
    if ranges.is_empty() {
        return Some(Format::Png);
    }
    let quality = |format: Format| {
        let media = format.content_type().split(';').next().unwrap_or_default();
        let (kind, _) = media.split_once('/').unwrap_or_default();
        // The most specific range counts.
        let fit = |range: &&(String, u16)| match range.0.as_str() {
            it if it == media => 3,
            it if it.strip_suffix("/*") == Some(kind) => 2,
            "*/*" => 1,
            _ => 0,
        };
        ranges.iter().filter(|range| fit(range) > 0).max_by_key(fit).map_or(0, |range| range.1)
    };
    let best = Format::ALL.into_iter().rev().max_by_key(|format| quality(*format))?;
    (quality(best) > 0).then_some(best)
}

/// The values of `Accept`.
pub(crate) fn accept_of(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    headers.get_all(ACCEPT).iter().map(HeaderValue::as_bytes)
}

/// A media range and its quality in thousandths.
fn range(text: &str) -> Option<(String, u16)> {
    let mut parts = text.split(';').map(str::trim);
    let media = parts.next().filter(|media| media.contains('/'))?.to_ascii_lowercase();
    let quality = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
    let quality = quality.and_then(|q| q.parse::<f32>().ok()).unwrap_or(1.0);
    Some((media, (quality.clamp(0.0, 1.0) * 1000.0) as u16))
}

/// `Content-Disposition` for a download (RFC 6266): a name in ASCII, and the same in UTF-8 if it has more.
pub(crate) fn disposition(filename: &str) -> Option<HeaderValue> {
    let ascii: String = filename.chars().map(|c| if c.is_ascii() { c } else { '_' }).collect();
    let mut value = format!("attachment; filename=\"{ascii}\"");
    if ascii != filename {
        value.push_str("; filename*=UTF-8''");
        for byte in filename.bytes() {
            // Writing to a string cannot fail.
            let _ = if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                write!(value, "{}", char::from(byte))
            } else {
                write!(value, "%{byte:02X}")
            };
        }
    }
    HeaderValue::from_str(&value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accept(value: &'static str) -> Option<Format> {
        accepted(|| [value.as_bytes()].into_iter())
    }

    #[test]
    fn accept_chooses_the_format_that_it_likes_best() {
        assert_eq!(accepted(|| [].into_iter()), Some(Format::Png));
        for (value, format) in [
            ("*/*", Some(Format::Png)),
            ("image/*", Some(Format::Png)),
            ("image/svg+xml", Some(Format::Svg)),
            ("image/avif,image/webp,image/*,*/*;q=0.8", Some(Format::Png)),
            ("image/png;q=0.5, application/json", Some(Format::Json)),
            ("*/*;q=0.1, application/pdf;q=0.2", Some(Format::Pdf)),
            ("image/png;q=0, image/*", Some(Format::Svg)),
            ("text/*", Some(Format::Txt)),
            ("image/webp", None),
            ("image/png;q=0", None),
        ] {
            assert_eq!(accept(value), format, "{value}");
        }
    }

    #[test]
    fn a_file_name_beyond_ascii_is_given_twice() {
        assert_eq!(disposition("a b.png").unwrap(), "attachment; filename=\"a b.png\"");
        assert_eq!(
            disposition("ü.png").unwrap(),
            "attachment; filename=\"_.png\"; filename*=UTF-8''%C3%BC.png"
        );
    }
}
