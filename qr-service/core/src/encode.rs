//! Text to symbol.

use qrcodegen::{Mask, QrCode, QrCodeEcc, QrSegment, QrSegmentMode, Version};

use crate::segment::{Mode, Segment, segment_optimally};
use crate::symbol::{Level, MAX_SIZE, ROW_WORDS, Symbol};

/// Why a text has no symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// The text takes more bits than version 40 holds at the asked level.
    TooLong,
}

impl std::fmt::Display for EncodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EncodeError::TooLong => f.write_str("text does not fit a QR symbol of version 40"),
        }
    }
}

impl std::error::Error for EncodeError {}

/// Encodes `text` in the smallest version that holds it at exactly `level` (no boost), over
/// numeric, alphanumeric and byte segments (UTF-8, no ECI), with the mask of least penalty.
///
/// # Errors
/// [`EncodeError::TooLong`] where version 40 does not hold the text.
pub fn encode(text: &str, level: Level) -> Result<Symbol, EncodeError> {
    // Header widths change at versions 10 and 27, and with them the best split.
    for (low, high) in [(1, 9), (10, 26), (27, 40)] {
        let segments: Vec<QrSegment> = segment_optimally(text.as_bytes(), low)
            .into_iter()
            .map(|s| to_qrcodegen(text.as_bytes(), s))
            .collect();
        if let Ok(code) = QrCode::encode_segments_advanced(
            &segments,
            to_ecc(level),
            Version::new(low),
            Version::new(high),
            None::<Mask>,
            false,
        ) {
            return Ok(from_qrcodegen(&code, level));
        }
    }
    Err(EncodeError::TooLong)
}

fn to_qrcodegen(text: &[u8], segment: Segment) -> QrSegment {
    let part = &text[segment.start..segment.end];
    let ascii = || String::from_utf8_lossy(part);
    match segment.mode {
        Mode::Numeric => QrSegment::make_numeric(&ascii()),
        Mode::Alphanumeric => QrSegment::make_alphanumeric(&ascii()),
        Mode::Byte => QrSegment::new(
            QrSegmentMode::Byte,
            part.len(),
            part.iter().flat_map(|b| (0..8).rev().map(move |i| b >> i & 1 == 1)).collect(),
        ),
    }
}

fn to_ecc(level: Level) -> QrCodeEcc {
    match level {
        Level::L => QrCodeEcc::Low,
        Level::M => QrCodeEcc::Medium,
        Level::Q => QrCodeEcc::Quartile,
        Level::H => QrCodeEcc::High,
    }
}

fn from_qrcodegen(code: &QrCode, level: Level) -> Symbol {
    let mut rows = [[0; ROW_WORDS]; MAX_SIZE];
    for (y, row) in (0..code.size()).zip(&mut rows) {
        for (x, i) in (0..code.size()).zip(0..) {
            row[i / 64] |= u64::from(code.get_module(x, y)) << (i % 64);
        }
    }
    Symbol { version: code.version().value(), level, mask: code.mask().value(), rows }
}
