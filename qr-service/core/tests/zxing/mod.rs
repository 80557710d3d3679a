//! Reads pictures with zxing-cpp.

#![allow(dead_code, reason = "not every test uses all of it")]

use qr_core::Symbol;
use zxingcpp::{Barcode, BarcodeFormat, ImageFormat, ImageView};

const SCALE_PX: usize = 3;
const MARGIN: usize = 4;

/// Pixels in grey, row by row.
pub(crate) struct Picture {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) grey: Vec<u8>,
}

/// Draws the symbol module by module and reads it.
///
/// # Panics
/// If there is not exactly one valid symbol.
pub(crate) fn read(symbol: &Symbol) -> Barcode {
    let side = (symbol.size() + 2 * MARGIN) * SCALE_PX;
    let module = |px: usize| (px / SCALE_PX).wrapping_sub(MARGIN);
    let grey: Vec<u8> = (0..side * side)
        .map(|i| if symbol.is_dark(module(i % side), module(i / side)) { 0 } else { 255 })
        .collect();
    read_picture(&Picture { width: side, height: side, grey })
}

/// Reads the one QR symbol of a picture.
///
/// # Panics
/// If there is not exactly one valid symbol.
pub(crate) fn read_picture(picture: &Picture) -> Barcode {
    read_picture_as(picture, BarcodeFormat::QRCode)
}

/// Reads the one symbol of this format.
///
/// # Panics
/// If there is not exactly one valid symbol.
pub(crate) fn read_picture_as(picture: &Picture, format: BarcodeFormat) -> Barcode {
    let Picture { width, height, grey } = picture;
    let view = ImageView::from_slice(grey, *width, *height, ImageFormat::Lum).expect("a picture");
    let mut found = zxingcpp::read().formats([format]).from(view).expect("it reads");
    assert_eq!(found.len(), 1, "zxing-cpp finds one symbol");
    found.remove(0)
}
