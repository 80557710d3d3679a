//! The judge `qr`: compares pictures of QR symbols, which are decoded.
//!
//! 1. If both sides answer a GET with 200, both bodies are pictures. They differ if either is `undecodable` or shows
//!    another `text` than the requested one, or if their `level` or `size` differ. Their bytes may differ.
//! 2. The bodies of all other answers are compared byte by byte: `body`.

use std::panic::catch_unwind;

use anyhow::bail;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::judge::difference::{DifferenceList, Kind};
use crate::judge::{Answer, RequestLine, bytes};
use contract::decode::{Decoded, Pixels, decode_pixels};

pub(crate) const KINDS: [Kind; 5] =
    [Kind::Body, Kind::Undecodable, Kind::Text, Kind::Level, Kind::Size];

/// The largest width and height that are decoded. Pictures have 200 pixels, but a small file can claim billions, and
/// the decoder's time grows with every pixel.
const MAX_SIDE_PX: u32 = 512;

/// The content of one picture.
struct Picture {
    /// Width and height; `None` if the body is not a complete PNG.
    size_px: Option<(usize, usize)>,
    /// The only symbol, or the reason why none could be read.
    symbol: Result<Decoded, String>,
}

impl Picture {
    fn from_png(png: &[u8]) -> Self {
        // The body is untrusted, and a panic of the decoder must not end the comparison.
        let read = catch_unwind(|| {
            let pixels = Pixels::from_png_within(png, MAX_SIDE_PX)?;
            Ok((Some((pixels.width, pixels.height)), decode_pixels(&pixels)))
        });
        let read = read.unwrap_or_else(|_| bail!("the decoder panicked"));
        let (size_px, symbol) = read.unwrap_or_else(|error| (None, Err(error)));
        Picture { size_px, symbol: symbol.map_err(|error| format!("{error:#}")) }
    }
}

/// Whether the answer is a picture.
fn is_picture(asked: &RequestLine<'_>, status: u16) -> bool {
    asked.method == "GET" && status == 200
}

/// The text to encode; `None` if the contract refuses the query.
fn text_of(target: &str) -> Option<String> {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let mut buffer = [0; contract::query::MAX_TEXT_BYTES];
    contract::query::parse_text(query.as_bytes(), &mut buffer).ok().map(str::to_owned)
}

/// Compares two answers with the same status.
pub(crate) fn compare(
    asked: &RequestLine<'_>,
    old: &Answer<'_>,
    new: &Answer<'_>,
    found: &mut DifferenceList,
) {
    if !is_picture(asked, old.status) {
        return bytes::compare(old.body, new.body, found);
    }
    let old_picture = Picture::from_png(old.body);
    if old.body == new.body {
        return compare_pictures(asked, &old_picture, &old_picture, found);
    }
    compare_pictures(asked, &old_picture, &Picture::from_png(new.body), found);
}

fn compare_pictures(
    asked: &RequestLine<'_>,
    old: &Picture,
    new: &Picture,
    found: &mut DifferenceList,
) {
    let symbols = found.both(old.symbol.as_ref(), new.symbol.as_ref());
    let Some((old_symbol, new_symbol)) = symbols else { return };
    // If the contract refuses the query, there is no text that a picture could show.
    let Some(text) = text_of(asked.target) else {
        return found.whole(Kind::Text, "the query has no text that a picture could show");
    };
    for (side, symbol) in [("old", old_symbol), ("new", new_symbol)] {
        if symbol.bytes != text.as_bytes() {
            let detail = format!(
                "{side} shows another text of {} bytes; asked were {}",
                symbol.bytes.len(),
                text.len()
            );
            found.whole(Kind::Text, detail);
        }
    }
    if old_symbol.level != new_symbol.level {
        found.whole(Kind::Level, format!("old {}, new {}", old_symbol.level, new_symbol.level));
    }
    if old.size_px != new.size_px {
        let shown = |picture: &Picture| match picture.size_px {
            Some((width, height)) => format!("{width} x {height} px"),
            None => "unknown".to_owned(),
        };
        found.whole(Kind::Size, format!("old {}, new {}", shown(old), shown(new)));
    }
}

/// Width, height, level, version and text of the picture, or why it cannot be read; `None` if the
/// answer is not a picture. Without `keep_text`, the text is shown as length and SHA-256.
pub(crate) fn describe(
    asked: &RequestLine<'_>,
    answer: &Answer<'_>,
    keep_text: bool,
) -> Option<Value> {
    if !is_picture(asked, answer.status) {
        return None;
    }
    let picture = Picture::from_png(answer.body);
    let mut shown = match &picture.symbol {
        Ok(symbol) => json!({
            "level": symbol.level,
            "version": symbol.version,
            "text": digested(&symbol.bytes, keep_text),
        }),
        Err(why) => json!({ "undecodable": why }),
    };
    if let Some((width, height)) = picture.size_px {
        shown["width"] = width.into();
        shown["height"] = height.into();
    }
    Some(shown)
}

/// Length and hash of bytes, and with `keep` the bytes themselves.
fn digested(bytes: &[u8], keep: bool) -> Value {
    let sha256 = format!("{:x}", Sha256::digest(bytes));
    let mut shown = json!({ "bytes": bytes.len(), "sha256": sha256 });
    if keep {
        shown["content"] = String::from_utf8_lossy(bytes).into();
    }
    shown
}
