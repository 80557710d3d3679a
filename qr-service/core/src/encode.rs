//! Text to symbol.

use crate::codewords::write_codewords;
use crate::level::Level;
use crate::matrix::{self, Word};
use crate::segment::{RANGES, Segmentation, segment};
use crate::symbol::{MAX_SIZE, ROW_WORDS, Symbol};
use crate::version::{data_codewords, total_codewords};

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
/// numeric, alphanumeric and byte segments (UTF-8, no ECI), with the mask of least penalty
/// (ISO/IEC 18004). The empty text has a symbol too, of no segments.
///
/// # Errors
/// [`EncodeError::TooLong`] where version 40 does not hold the text.
pub fn encode(text: &str, level: Level) -> Result<Symbol, EncodeError> {
    let text = text.as_bytes();
    let fits =
        |range: usize, bits: u32| bits as usize <= 8 * data_codewords(RANGES[range].1, level);
    let (range, split) = segment(text, fits).ok_or(EncodeError::TooLong)?;
    let (low, high) = RANGES[range];
    let version =
        (low..high).find(|&v| split.bits as usize <= 8 * data_codewords(v, level)).unwrap_or(high);
    let message = Message { text, split: &split, range, version, level };
    // Words a line, lines with a border of 8, words of 16 modules a line, and codewords with 4 bytes to spare: for the
    // largest version of each class of sizes.
    Ok(match version {
        1..=3 => message.draw::<u32, 1, 40, 2, 80>(),
        4..=11 => message.draw::<u64, 1, 72, 4, 416>(),
        12..=27 => message.draw::<u64, 2, 136, 8, 1840>(),
        _ => message.draw::<u64, 3, 192, 12, 3712>(),
    })
}

/// A text on its way to a symbol.
struct Message<'a> {
    text: &'a [u8],
    split: &'a Segmentation,
    range: usize,
    version: u8,
    level: Level,
}

impl Message<'_> {
    fn draw<T: Word, const W: usize, const N: usize, const V: usize, const C: usize>(
        &self,
    ) -> Symbol {
        let mut codewords = [0; C];
        write_codewords(
            self.text,
            self.split,
            self.range,
            (self.version, self.level),
            &mut codewords,
        );
        let codewords = &codewords[..total_codewords(self.version)];
        let (lines, mask) = matrix::draw::<T, W, N, V>(self.version, self.level, codewords);
        let mut symbol = Symbol {
            version: self.version,
            level: self.level,
            mask,
            rows: [[0; ROW_WORDS]; MAX_SIZE],
        };
        let beyond = !(!0 << (symbol.size() % 64));
        let size = symbol.size();
        for (row, line) in symbol.rows.iter_mut().zip(&lines).take(size) {
            for (word, part) in row.iter_mut().zip(line) {
                *word = part.to_u64();
            }
            row[size / 64] &= beyond;
        }
        symbol
    }
}
