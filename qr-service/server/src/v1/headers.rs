//! Headers of pictures: entity tags, `Accept`, downloads.

use std::hash::{Hash, Hasher as _};

use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue};
use xxhash_rust::xxh3::Xxh3Default;

use crate::tags::quoted;
use crate::v1::options::Format;
use crate::v1::payload::percent;
use crate::v1::plan::Plan;

/// The version of the pictures of `/v1/`, in addition to `qr_core::OUTPUT_VERSION`. It must change whenever their bytes
/// change.
const OUTPUT_VERSION: u32 = 10;

/// The strong tag of a plan's picture: the same for all ways to ask for the picture, but different for each
/// version of the output.
pub(crate) fn tag(plan: &Plan) -> HeaderValue {
    let mut hasher = Xxh3Default::new();
    (qr_core::OUTPUT_VERSION, OUTPUT_VERSION).hash(&mut hasher);
    // Builds that lay out the types differently hash them differently, so each release has its own tags.
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    plan.hash(&mut hasher);
    quoted(hasher.finish())
}

/// The format that `Accept` prefers (RFC 9110 section 12.5.1); among equals the earlier one in [`Format::ALL`].
/// PNG without the header. `None` if `Accept` allows none.
pub(crate) fn accepted(headers: &HeaderMap) -> Option<Format> {
    let values = || headers.get_all(ACCEPT).iter();
    // Most clients other than browsers send this.
    if values().all(|value| value == "*/*") {
        return Some(Format::Png);
    }
    let values = values().filter_map(|value| value.to_str().ok());
    let ranges: Vec<_> = values.flat_map(|it| it.split(',')).filter_map(range).collect();
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

/// A media range and its quality in thousandths.
fn range(text: &str) -> Option<(String, u16)> {
    let mut parts = text.split(';').map(str::trim);
    let media = parts.next().filter(|media| media.contains('/'))?.to_ascii_lowercase();
    let quality = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
    let quality = quality.and_then(|q| q.parse::<f32>().ok()).unwrap_or(1.0);
    Some((media, (quality.clamp(0.0, 1.0) * 1000.0) as u16))
}

/// `Content-Disposition` for a download (RFC 6266): the name in ASCII, and also in UTF-8 if it has other characters.
pub(crate) fn disposition(filename: &str) -> Option<HeaderValue> {
    let ascii: String = filename.chars().map(|c| if c.is_ascii() { c } else { '_' }).collect();
    let mut value = format!("attachment; filename=\"{ascii}\"");
    if ascii != filename {
        value = format!("{value}; filename*=UTF-8''{}", percent(filename));
    }
    HeaderValue::from_str(&value).ok()
}

#[cfg(test)]
mod tests;
