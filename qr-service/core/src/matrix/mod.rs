//! Codewords to modules: function patterns, placement, masks (ISO/IEC 18004 sections 6.3, 7.7 to
//! 7.10).
//!
//! A matrix is lines of machine words with one bit per module, stored twice: as rows and as columns.
//! Comparing neighbours on adjacent lines then takes whole words and no shifts: rows give the vertical
//! neighbours, columns the horizontal ones.

mod format;
mod function;
mod lanes;
mod lines;
mod mask;
mod penalty;
mod place;
mod transpose;
#[cfg(target_arch = "x86_64")]
mod wide;

use format::Formats;
use lines::PackedLines;
pub(crate) use lines::{APART, Sizes, Word};
#[cfg(any(feature = "micro", feature = "rmqr"))]
pub(crate) use mask::mask_rows;
pub(crate) use place::zigzag;

use crate::level::Level;
use crate::modules::ROW_WORDS;
use crate::version::{size_of, total_codewords};

/// A row of any symbol before its message: the dark modules of its function patterns with format information, and the
/// modules that are free for codewords. Module `x` is bit `x % 64` of word `x / 64`.
pub(crate) type Row = [u64; ROW_WORDS];

/// The rows of a symbol before its message.
pub(crate) fn empty_rows(version: u8, level: Level, mask: u8) -> Vec<[Row; 2]> {
    const LINES: usize = Sizes::up_to(40, 64).lines + APART;
    let size = size_of(version);
    let mut patterns = function::Patterns::<u64, ROW_WORDS, LINES>::new(version);
    Formats::new(level, size).draw(&mut patterns.dark, mask);
    patterns.dark[..size].iter().zip(patterns.free).map(|(dark, free)| [*dark, free]).collect()
}

/// Whether module `x` of a row is dark.
pub(crate) fn is_set(row: &Row, x: usize) -> bool {
    row[x / 64] >> (x % 64) & 1 == 1
}

/// Draws the symbol of `codewords` with buffers of at least its [`Sizes`] and with `mask`, or else with
/// the mask of the lowest penalty. Returns its rows and the mask.
#[inline(always)]
pub(crate) fn draw<T: Word, const WORDS: usize, const LINES: usize, const CODEWORDS: usize>(
    version: u8,
    level: Level,
    codewords: &[u8; CODEWORDS],
    mask: Option<u8>,
) -> (PackedLines<T, WORDS, LINES>, u8) {
    let size = size_of(version);
    let patterns = function::Patterns::<T, WORDS, LINES>::new(version);
    let mut columns =
        place::place_codewords(codewords, total_codewords(version), size, &patterns.free);
    let mut rows = transpose::transpose(&columns);
    // The patterns are their own mirror image, so rows and columns take the same ones.
    for lines in [&mut columns, &mut rows] {
        for (line, dark) in lines.iter_mut().zip(&patterns.dark).take(size) {
            (0..WORDS).for_each(|w| line[w] = line[w] | dark[w]);
        }
    }
    let formats = Formats::new(level, size);
    let free = &patterns.free;
    let mask = mask.unwrap_or_else(|| {
        penalty::choose_mask::<T, WORDS, LINES>(&rows, &columns, free, &formats, size)
    });
    mask::apply(&mut rows, free, mask, size);
    formats.draw(&mut rows, mask);
    (rows, mask)
}
