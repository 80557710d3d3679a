//! QuickChart's caption.

use qr_core::Color;

use super::drawing::Wrong;
use super::fields::{Fields, text};
use crate::v1::letters::Letters;

const DEFAULT_SIZE_PX: f32 = 10.0;
const SIZES_PX: std::ops::RangeInclusive<f32> = 1.0..=200.0;
const MOST_CHARACTERS: usize = 500;

/// Reads the caption of a request; `None` if there is none. The font is the same whatever family the request asks for.
/// Fails if the caption is too long, the font lacks one of its characters, or its size or colour is invalid.
pub(super) fn read(fields: &Fields) -> Result<Option<Letters>, Wrong> {
    let of = |name: &str| fields.first(name).map(text).filter(|value| !value.trim().is_empty());
    let Some(words) = of("caption") else { return Ok(None) };
    if words.chars().count() > MOST_CHARACTERS {
        let detail = format!("it has more than {MOST_CHARACTERS} characters");
        return Err(Wrong::new("caption", detail));
    }
    // As in QuickChart, an invalid number means the default.
    let size_px = of("captionFontSize").and_then(|size| size.parse().ok());
    let size_px = size_px.unwrap_or(DEFAULT_SIZE_PX);
    if !SIZES_PX.contains(&size_px) {
        let detail = format!("use {} to {} pixels", SIZES_PX.start(), SIZES_PX.end());
        return Err(Wrong::new("captionFontSize", detail));
    }
    let [red, green, blue, alpha] = match of("captionFontColor") {
        Some(color) => csscolorparser::parse(color)
            .map_err(|_| Wrong::new("captionFontColor", "use a colour as CSS has them"))?
            .to_rgba8(),
        None => [0, 0, 0, 255],
    };
    Ok(Some(Letters::new(words, size_px, Color { red, green, blue, alpha })?))
}
