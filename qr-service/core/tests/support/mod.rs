//! Decodes with two independent decoders: rqrr, and zxing-cpp, which is C++.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use contract::decode::{Decoded, Pixels, decode_pixels_by_rqrr};
use zxingcpp::{BarcodeFormat, ImageFormat, ImageView};

/// Decodes a PNG with both decoders.
///
/// # Panics
/// If one of them cannot read it, or they differ in bytes, version or level.
pub(crate) fn decode_by_both(png: &[u8]) -> (Decoded, Pixels) {
    let pixels = Pixels::from_png(png).unwrap();
    let by_rqrr = decode_pixels_by_rqrr(&pixels).unwrap();
    let by_zxing = decode_by_zxing(&pixels);
    assert_eq!(by_rqrr, by_zxing);
    (by_rqrr, pixels)
}

fn decode_by_zxing(pixels: &Pixels) -> Decoded {
    let (width, height) = (pixels.width as u32, pixels.height as u32);
    let view = ImageView::from_slice(&pixels.grey, width, height, ImageFormat::Lum).unwrap();
    let found = zxingcpp::read().formats([BarcodeFormat::QRCode]).from(view).unwrap();
    assert_eq!(found.len(), 1, "zxing-cpp finds one symbol");
    assert!(!found[0].has_eci(), "there is no ECI header");
    Decoded {
        bytes: found[0].bytes(),
        version: found[0].extra_with_key("Version").parse().unwrap(),
        level: found[0].extra_with_key("ECLevel").parse().unwrap(),
    }
}
