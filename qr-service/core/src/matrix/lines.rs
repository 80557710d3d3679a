//! Matrices as lines of machine words, and how many lines and words a symbol needs.

use std::fmt::Debug;
use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

use crate::version::{size_of, total_codewords};

/// A matrix: module `i` of a line is bit `i % BITS` of word `i / BITS`; dark is 1.
pub(super) type PackedLines<T, const WORDS: usize, const LINES: usize> = [[T; WORDS]; LINES];

/// Sets the modules `bits` of a line, at most 32, the first at `at`.
#[inline(always)]
pub(super) fn or_bits<T: Word, const WORDS: usize>(line: &mut [T; WORDS], at: usize, bits: u64) {
    if WORDS == 1 {
        line[0] = line[0] | T::from_low(bits) << at as u32;
    } else {
        or_bits_in_words(line, at, bits);
    }
}

/// Not inlined: there are many calls, and large symbols take long in any case.
#[inline(never)]
fn or_bits_in_words<T: Word>(line: &mut [T], at: usize, bits: u64) {
    let (word, shift) = (at / T::BITS, at % T::BITS);
    line[word] = line[word] | T::from_low(bits) << shift as u32;
    if shift > 0 && word + 1 < line.len() {
        line[word + 1] = line[word + 1] | T::from_low(bits >> (T::BITS - shift));
    }
}

/// Clears the modules `bits` of a line, at most 32, the first at `at`.
#[inline(always)]
pub(super) fn clear_bits<T: Word, const WORDS: usize>(line: &mut [T; WORDS], at: usize, bits: u64) {
    let mut cleared = [T::ZERO; WORDS];
    or_bits(&mut cleared, at, bits);
    (0..WORDS).for_each(|w| line[w] = line[w] & !cleared[w]);
}

/// Light lines on either side of the symbol while it is scored: penalty rule 3 looks at 4 modules of
/// the quiet zone.
pub(super) const BORDER: usize = 4;

/// Lengths of the buffers that hold any symbol up to some version. The functions that draw take them
/// as const arguments, so each range of versions has its own code with loops of fixed length.
pub(crate) struct Sizes {
    /// Words of a line.
    pub(crate) words: usize,
    /// Lines of the symbol with a [`BORDER`] on either side, rounded up to a multiple of 8: the
    /// search for finders reads one line beyond.
    pub(crate) lines: usize,
    /// Bytes of the codewords and 16 to spare, because their bits are written in words of 4 bytes and read in words
    /// of 8 from either half; rounded up to a multiple of 16.
    pub(crate) codewords: usize,
}

/// Lines that buffers have in addition to their [`Sizes`] outside of [`crate::encode`]. With lengths of their own they
/// have separate copies of the drawing functions, so the compiler inlines the copies of `encode` as if nothing else
/// called them.
pub(crate) const APART: usize = 8;

impl Sizes {
    /// The sizes for all versions up to `version`, in words of `word_bits` modules.
    pub(crate) const fn up_to(version: u8, word_bits: u32) -> Self {
        let size = size_of(version);
        Sizes {
            words: size.div_ceil(word_bits as usize),
            lines: (size + 2 * BORDER).next_multiple_of(8),
            codewords: (total_codewords(version) + 16).next_multiple_of(16),
        }
    }
}

/// A word of a line.
pub(crate) trait Word:
    Copy
    + Debug
    + Eq
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// Modules in a word.
    const BITS: usize;
    const ZERO: Self;
    const ONES: Self;

    /// The low bits of `bits`.
    fn from_low(bits: u64) -> Self;
    /// The word, zero-extended.
    fn to_u64(self) -> u64;
}

impl Word for u32 {
    const BITS: usize = 32;
    const ZERO: Self = 0;
    const ONES: Self = !0;

    fn from_low(bits: u64) -> Self {
        bits as u32
    }

    fn to_u64(self) -> u64 {
        u64::from(self)
    }
}

impl Word for u64 {
    const BITS: usize = 64;
    const ZERO: Self = 0;
    const ONES: Self = !0;

    fn from_low(bits: u64) -> Self {
        bits
    }

    fn to_u64(self) -> u64 {
        self
    }
}
