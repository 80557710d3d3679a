//! Compares symbols with those of another encoder, and masks with a plain implementation of the standard's rules.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use qr_core::{Level, MAX_TEXT_BYTES, Symbol, encode};
use qrcodegen::{Mask, QrCode, QrCodeEcc, QrSegment, Version};

const LEVELS: [(Level, QrCodeEcc); 4] = [
    (Level::L, QrCodeEcc::Low),
    (Level::M, QrCodeEcc::Medium),
    (Level::Q, QrCodeEcc::Quartile),
    (Level::H, QrCodeEcc::High),
];

/// Returns qrcodegen's modules for the same text and mask. They show any difference in codewords,
/// error correction, interleaving, placement, function patterns or format information.
fn draw_with_qrcodegen(text: &str, symbol: &Symbol, ecc: QrCodeEcc, mask: u8) -> Vec<Vec<bool>> {
    let version = Version::new(symbol.version());
    // The best split of the texts in these tests is one segment.
    let segments = QrSegment::make_segments(text);
    let code = QrCode::encode_segments_advanced(
        &segments,
        ecc,
        version,
        version,
        Some(Mask::new(mask)),
        false,
    )
    .unwrap();
    let size = code.size();
    (0..size).map(|y| (0..size).map(|x| code.get_module(x, y)).collect()).collect()
}

fn modules(symbol: &Symbol) -> Vec<Vec<bool>> {
    let size = symbol.size();
    (0..size).map(|y| (0..size).map(|x| symbol.is_dark(x, y)).collect()).collect()
}

/// Computes the penalty of section 7.8.3.1, module by module; the quiet zone is light.
fn penalty(rows: &[Vec<bool>]) -> usize {
    let size = rows.len();
    let columns: Vec<Vec<bool>> =
        (0..size).map(|x| rows.iter().map(|row| row[x]).collect()).collect();
    let mut points = 0;
    for line in rows.iter().chain(&columns) {
        points += line
            .chunk_by(|a, b| a == b)
            .filter(|run| run.len() >= 5)
            .map(|run| run.len() - 2)
            .sum::<usize>();
        let padded = [&[false; 4][..], line, &[false; 4]].concat();
        points += 40
            * padded
                .windows(15)
                .filter(|w| {
                    w[4..11] == [true, false, true, true, true, false, true]
                        && (!w[..4].contains(&true) || !w[11..].contains(&true))
                })
                .count();
    }
    for pair in rows.windows(2) {
        points += 3
            * (1..size)
                .filter(|&x| {
                    pair[0][x] == pair[0][x - 1]
                        && pair[0][x] == pair[1][x]
                        && pair[0][x] == pair[1][x - 1]
                })
                .count();
    }
    let dark = rows.iter().flatten().filter(|&&dark| dark).count();
    points + (20 * dark).abs_diff(10 * size * size) / (size * size) * 10
}

fn check(text: &str, level: Level, ecc: QrCodeEcc) {
    let symbol = encode(text, level).unwrap();
    let drawn: Vec<_> = (0..8).map(|mask| draw_with_qrcodegen(text, &symbol, ecc, mask)).collect();
    let mask = usize::from(symbol.mask());
    assert_eq!(
        modules(&symbol),
        drawn[mask],
        "{text:?} {level:?} version {} mask {mask}",
        symbol.version()
    );
    let points: Vec<_> = drawn.iter().map(|rows| penalty(rows)).collect();
    let least = (0..8).min_by_key(|&m| points[m]).unwrap();
    assert_eq!(mask, least, "{text:?} {level:?}: penalties {points:?}");
}

/// Returns lower-case letters in an order chosen by `seed`.
fn letters(length: usize, seed: usize) -> String {
    let mut state = seed as u64;
    (0..length)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            char::from(b'a' + (state >> 33) as u8 % 26)
        })
        .collect()
}

#[test]
fn every_version_and_level_equals_the_symbol_of_another_encoder() {
    for (level, ecc) in LEVELS {
        let mut seen = 0;
        for length in 1.. {
            let Ok(symbol) = encode(&letters(length, length), level) else { break };
            if symbol.version() > seen {
                seen += 1;
                assert_eq!(symbol.version(), seen, "no version is skipped");
                check(&letters(length, length), level, ecc);
                if length > 1 {
                    check(&letters(length - 1, length), level, ecc);
                }
            }
        }
        assert_eq!(seen, 40);
    }
}

#[test]
fn the_standards_worked_example_is_drawn_as_printed() {
    // Annex I: "01234567" in version 1-M has mask 010.
    let symbol = encode("01234567", Level::M).unwrap();
    assert_eq!((symbol.version(), symbol.mask()), (1, 2));
    check("01234567", Level::M, QrCodeEcc::Medium);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_mask_has_the_lowest_penalty(
        text in prop_oneof!["[0-9]{1,300}", "[A-Z $%*+./:-]{1,300}", "[a-z]{1,600}", "a{1,600}", "[\u{80}-\u{7ff}]{1,300}"],
        level in 0..4usize,
    ) {
        let (level, ecc) = LEVELS[level];
        if encode(&text, level).is_ok() {
            check(&text, level, ecc);
        }
    }
}

#[test]
fn text_that_no_version_holds_is_refused() {
    assert!(encode(&letters(2953, 1), Level::L).is_ok());
    assert!(encode(&letters(2954, 1), Level::L).is_err());
    assert!(encode(&"7".repeat(MAX_TEXT_BYTES), Level::L).is_ok());
    assert!(encode(&"7".repeat(MAX_TEXT_BYTES + 1), Level::L).is_err());
    assert!(encode(&"7".repeat(1_000_000), Level::H).is_err());
    assert_eq!(encode("", Level::H).unwrap().version(), 1);
}
