//! Every text decodes to the same bytes, by two independent decoders.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use contract::decode::Decoded;
use proptest::prelude::*;
use qr_core::{Level, Raster, encode, generate};
use support::decode_by_both;

/// Generates texts of 1 to 512 bytes of UTF-8.
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

/// Encodes the text, and decodes it with both decoders.
fn decodes_to_itself(text: String) -> Result<(), TestCaseError> {
    let mut png = Vec::new();
    generate(&text, Level::L, &Raster::SERVICE, &mut png).unwrap();
    let (decoded, pixels) = decode_by_both(&png);
    prop_assert_eq!((pixels.width, pixels.height), (200, 200));
    let version = encode(&text, Level::L).unwrap().version();
    prop_assert_eq!(decoded, Decoded { bytes: text.into_bytes(), version, level: 'L' });
    Ok(())
}

proptest! {
    #[test]
    fn every_text_decodes_to_itself(text in text()) {
        decodes_to_itself(text)?;
    }
}

/// Regression: a match over two equal rows was so long that the prepared tables had no code for it.
#[test]
fn a_symbol_with_two_equal_rows_decodes() {
    let text = "?=/?61.$$W$J5*D $ *+80   *E+EP $B";
    let mut png = Vec::new();
    generate(text, Level::L, &Raster::SERVICE, &mut png).unwrap();
    assert_eq!(decode_by_both(&png).0.bytes, text.as_bytes());
}
