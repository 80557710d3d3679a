//! Checks that two decoders read any text, at any level and in any size, back from its picture, or that it is refused.
//!
//! The first three bytes of the input choose level, scale and margin; the rest is the text.

#![no_main]

#[path = "../../tests/support/mod.rs"]
mod support;

use libfuzzer_sys::fuzz_target;
use qr_core::{Level, MAX_TEXT_BYTES, Raster, encode, write_png};
use support::decode_by_both;

/// Bytes that version 40 holds at level H in byte mode (ISO/IEC 18004, table 7): a text of this length
/// fits at every level.
const FITS_ALWAYS: usize = 1273;

fuzz_target!(|input: &[u8]| {
    let [level, scale, margin, text @ ..] = input else { return };
    let text = String::from_utf8_lossy(text);
    let level = Level::ALL[usize::from(level % 4)];
    let symbol = match encode(&text, level) {
        Ok(symbol) => symbol,
        Err(_) => return assert!(text.len() > FITS_ALWAYS),
    };
    assert!(text.len() <= MAX_TEXT_BYTES);
    assert_eq!(symbol.level(), level);
    if text.is_empty() {
        return; // decoders do not find a symbol without segments
    }

    // Decoders need a quiet zone; the standard requires four modules.
    let margin_modules = 4 + u32::from(margin % 8);
    let modules = symbol.size() as u32 + 2 * margin_modules;
    let size_px = modules * (2 + u32::from(scale % 5)) + u32::from(*scale) % modules.min(64);
    let mut png = Vec::new();
    write_png(&symbol, &Raster::new(size_px).margin_modules(margin_modules), &mut png).expect("the symbol fits");
    let (decoded, pixels) = decode_by_both(&png);
    assert_eq!(decoded.bytes, text.as_bytes());
    assert_eq!(decoded.version, symbol.version());
    assert_eq!((pixels.width, pixels.height), (size_px as usize, size_px as usize));

    // A size that leaves less than a pixel per module is refused, and nothing is written.
    let tight = Raster::new(modules - 1).margin_modules(margin_modules);
    let before = png.len();
    assert!(write_png(&symbol, &tight, &mut png).is_err());
    assert_eq!(png.len(), before);
});
