//! Codewords to modules: function patterns, placement, masks (ISO/IEC 18004 sections 6.3, 7.7 to
//! 7.10).
//!
//! A matrix is held as lines of machine words, one bit a module, once as rows and once as columns.
//! Whatever concerns neighbours across lines is then a word-wise operation without shifts, on
//! rows for the vertical and on columns for the horizontal. The size of the symbol picks the
//! words: one `u32` up to version 3, one `u64` up to 11, two up to 27, three beyond.

mod format;
mod function;
mod lanes;
mod mask;
mod penalty;
mod place;
mod transpose;
mod word;

pub(crate) use word::Word;

use crate::level::Level;
use crate::version::size_of;

/// Lines of a matrix: `N` lines of `W` words; module `i` of a line is bit `i % BITS` of word
/// `i / BITS`, dark is 1. `N` has room for 8 lines more than the symbol, for the quiet zone that
/// the penalty rules look at.
pub(crate) type Lines<T, const W: usize, const N: usize> = [[T; W]; N];

/// Light lines before the first line of the symbol where a matrix is scored.
const BORDER: usize = 4;

/// Draws the symbol of `codewords`: its rows, and the mask of least penalty.
///
/// `T`, `W` and `N` must be large enough for the version, see [`Lines`]; `V` is what `W` words of
/// `T` are in words of 16 modules.
pub(crate) fn draw<T: Word, const W: usize, const N: usize, const V: usize>(
    version: u8,
    level: Level,
    codewords: &[u8],
) -> (Lines<T, W, N>, u8) {
    let size = size_of(version);
    let patterns = function::Patterns::<T, W, N>::new(version);
    let mut columns = place::place_codewords(codewords, size, &patterns.reserved);
    let mut rows = transpose::transpose(&columns);
    // The patterns are their own mirror image, but for what `format` adds.
    for (line, dark) in columns.iter_mut().zip(&patterns.dark).take(size) {
        (0..W).for_each(|w| line[w] = line[w] | dark[w]);
    }
    for (line, dark) in rows.iter_mut().zip(&patterns.dark).take(size) {
        (0..W).for_each(|w| line[w] = line[w] | dark[w]);
    }
    let formats = format::Formats::new(level, size);
    let free = &patterns.free;
    let mask = penalty::choose_mask::<T, W, N, V>(&rows, &columns, free, &formats, size);
    mask::apply(&mut rows, free, mask, size);
    formats.draw(&mut rows, mask);
    (rows, mask)
}
