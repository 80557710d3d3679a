//! Checks that the reader shows a damaged picture's text or none, and reads any picture without a panic.
//!
//! The first byte of the input chooses level and scale, the second the number of damaged pixels; three bytes for each of
//! them follow, place and grey, and then the text.

#![no_main]

use qr_core::{Level, encode, read};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let [choice, count, rest @ ..] = input else { return };
    read(rest, usize::from(*choice));
    let Some((damage, text)) = rest.split_at_checked(3 * usize::from(*count)) else { return };
    let text = String::from_utf8_lossy(text);
    let Ok(symbol) = encode(&text, Level::ALL[usize::from(choice % 4)]) else { return };
    let scale = 1 + usize::from(choice / 4 % 4);
    let side = (symbol.size() + 8) * scale;
    let module = |px: usize| (px / scale).wrapping_sub(4);
    let is_dark = |at: usize| symbol.is_dark(module(at % side), module(at / side));
    let mut grey: Vec<u8> = (0..side * side).map(|at| if is_dark(at) { 0 } else { 255 }).collect();
    for pixel in damage.chunks(3) {
        let at = usize::from(u16::from_le_bytes([pixel[0], pixel[1]]));
        grey[at * grey.len() >> 16] = pixel[2];
    }
    let found = read(&grey, side).unwrap_or_default();
    assert!(found.iter().all(|it| it.content.bytes == text.as_bytes()));
    assert!(!damage.is_empty() || text.is_empty() || found.len() == 1);
});
