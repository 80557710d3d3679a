//! What is encoded decodes to the same bytes, by a decoder that is not ours.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use qr_core::{Engine, Level, encode};

/// Decodes a PNG of ours: the text's bytes, and what the symbol says of itself.
fn decode(png: &[u8]) -> (Vec<u8>, rqrr::MetaData) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    assert_eq!((reader.info().width, reader.info().height), (200, 200));
    let mut buffer = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut buffer).unwrap();
    let light = |x: usize, y: usize| buffer[y * 25 + x / 8] >> (7 - x % 8) & 1 == 1;
    let mut image =
        rqrr::PreparedImage::prepare_from_greyscale(
            200,
            200,
            |x, y| if light(x, y) { 255 } else { 0 },
        );
    let grids = image.detect_grids();
    assert_eq!(grids.len(), 1);
    let mut bytes = Vec::new();
    let meta = grids[0].decode_to(&mut bytes).unwrap();
    (bytes, meta)
}

/// Any text of 1 to 512 bytes of UTF-8.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[0-9]{1,40}",
        "[0-9A-Z $%*+./:-]{1,40}",
        "[a-z0-9/:?=&.]{1,60}",
        "\\PC{1,40}",
        proptest::collection::vec(any::<char>(), 1..20).prop_map(String::from_iter),
    ];
    proptest::collection::vec(piece, 1..8).prop_map(|pieces| {
        let mut text = pieces.concat();
        while text.len() > 512 {
            text.pop();
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_text_decodes_to_itself(text in text()) {
        let mut png = Vec::new();
        Engine::Default.generate(&text, &mut png).unwrap();
        let (bytes, meta) = decode(&png);
        prop_assert_eq!(bytes, text.as_bytes());
        // rqrr numbers the levels as the format bits do: L is 1.
        prop_assert_eq!(meta.ecc_level, 1);
        let symbol = encode(&text, Level::L).unwrap();
        prop_assert_eq!(meta.version.0, usize::from(symbol.version()));
        prop_assert_eq!(meta.mask, u16::from(symbol.mask()));
    }
}

#[test]
fn every_length_up_to_512_bytes_has_a_picture() {
    for length in 1..=512 {
        let text: String = ('a'..='z').cycle().take(length).collect();
        let mut png = Vec::new();
        Engine::Default.generate(&text, &mut png).unwrap();
        assert_eq!(decode(&png).0, text.as_bytes());
    }
}
