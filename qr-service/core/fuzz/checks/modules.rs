//! Checks that a symbol has the same modules and version as that of qrcodegen, a plainly written encoder.
//!
//! The first byte of the input chooses level and mode; the others choose characters of that mode, so that
//! the best split of the text is one segment and both encoders must agree to the bit.

use qr_core::{Level, encode};
use qrcodegen::{Mask, QrCode, QrCodeEcc, QrSegment, Version};

const LEVELS: [QrCodeEcc; 4] =
    [QrCodeEcc::Low, QrCodeEcc::Medium, QrCodeEcc::Quartile, QrCodeEcc::High];

/// Panics unless both symbols are equal.
pub(crate) fn check(input: &[u8]) {
    let [choice, characters @ ..] = input else { return };
    let (level, characters_of): (_, &[u8]) = match choice / 4 % 3 {
        0 => (choice % 4, b"0123456789"),
        1 => (choice % 4, b"ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+./:-"),
        _ => (choice % 4, b"abcdefghijklmnopqrstuvwxyz?=&_#~\n\x00"),
    };
    let character = |byte: &u8| char::from(characters_of[usize::from(*byte) % characters_of.len()]);
    let text: String = characters.iter().map(character).collect();
    let ecc = LEVELS[usize::from(level)];
    let segments = QrSegment::make_segments(&text);
    let with = |from, mask| {
        QrCode::encode_segments_advanced(&segments, ecc, from, Version::MAX, mask, false)
    };
    let Ok(symbol) = encode(&text, Level::ALL[usize::from(level)]) else {
        return assert!(with(Version::MIN, Some(Mask::new(0))).is_err(), "{text:?}");
    };
    // qrcodegen finds the smallest version itself.
    let plain = with(Version::MIN, Some(Mask::new(symbol.mask()))).expect("it fits");
    assert_eq!(symbol.version(), plain.version().value(), "{text:?}");
    for y in 0..symbol.size() {
        for x in 0..symbol.size() {
            let is_dark = plain.get_module(x as i32, y as i32);
            assert_eq!(symbol.is_dark(x, y), is_dark, "{x}, {y} of {text:?}");
        }
    }
}
