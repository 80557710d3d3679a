//! `qr-core`: takes microseconds, and reads only pictures that programs draw.

use qr_core::SymbolKind;

use super::{Decoded, Pixels};

/// Decodes the symbol in a picture by `qr-core` alone. `None` unless it is one QR symbol, dark on light, and nothing
/// else in the picture looks like one. Also `None` for FNC1 and structured append, like
/// [`decode_pixels_by_rxing`](super::decode_pixels_by_rxing).
pub fn decode_pixels_by_core(pixels: &Pixels) -> Option<Decoded> {
    let [symbol] = <[_; 1]>::try_from(qr_core::read(&pixels.grey, pixels.width)?).ok()?;
    let content = symbol.content;
    let is_plain = !symbol.is_inverted && content.fnc1.is_none() && content.part.is_none();
    if symbol.kind != SymbolKind::Qr || !is_plain {
        return None;
    }
    let level = symbol.level?.to_string().chars().next()?;
    Some(Decoded { bytes: content.bytes, version: symbol.version, level })
}
