//! Any text at any level in any size either decodes to itself, by two decoders, or is refused.
//!
//! The first three bytes are level, pixels a module and margin; the rest is the text.

#![no_main]

#[path = "../../tests/support/mod.rs"]
mod support;

use libfuzzer_sys::fuzz_target;
use qr_core::{EncodeError, Level, Raster, encode, write_png};
use support::decode_by_both;

/// ISO/IEC 18004, table 7: every text of as many bytes fits at every level, as bytes at 40-H.
const FITS_ALWAYS: usize = 1273;
/// And none of more than this fits at any, as digits at 40-L.
const FITS_EVER: usize = 7089;

fuzz_target!(|input: &[u8]| {
    let [level, scale, margin, text @ ..] = input else { return };
    let text = String::from_utf8_lossy(text);
    let level = [Level::L, Level::M, Level::Q, Level::H][usize::from(level % 4)];
    let symbol = match encode(&text, level) {
        Ok(symbol) => symbol,
        Err(EncodeError::TooLong) => return assert!(text.len() > FITS_ALWAYS),
    };
    assert!(text.len() <= FITS_EVER);
    assert_eq!(symbol.level(), level);
    if text.is_empty() {
        return; // a symbol of no segments, which decoders take for none
    }

    // Decoders need the quiet zone; four modules are the standard's least.
    let margin_modules = 4 + u32::from(margin % 8);
    let modules = symbol.size() as u32 + 2 * margin_modules;
    let size_px = modules * (2 + u32::from(scale % 5)) + u32::from(*scale) % modules.min(64);
    let mut png = Vec::new();
    write_png(&symbol, &Raster { size_px, margin_modules }, &mut png).expect("it has the room");
    let (decoded, pixels) = decode_by_both(&png);
    assert_eq!(decoded.bytes, text.as_bytes());
    assert_eq!(decoded.version, symbol.version());
    assert_eq!((pixels.width, pixels.height), (size_px as usize, size_px as usize));

    // A size that leaves less than a pixel for a module is refused, and nothing is written.
    let tight = Raster { size_px: modules - 1, margin_modules };
    let before = png.len();
    assert!(write_png(&symbol, &tight, &mut png).is_err());
    assert_eq!(png.len(), before);
});
