//! The machine words that lines are made of.

use std::fmt::Debug;
use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

use super::mask;

/// A word of a line, with `L` of them in a register of 128 bits: the masks are scored so many at a
/// time. (Every x86-64 and AArch64 has such registers; the compiler vectorises over `[T; L]`.)
pub(crate) trait Word<const L: usize>:
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
    /// Planes of a bit-sliced counter that holds the penalties of a column (see `penalty`).
    const PLANES: usize;

    /// The low bits of `bits`.
    fn from_low(bits: u64) -> Self;
    /// The word, zero-extended.
    fn to_u64(self) -> u64;
    fn count_ones(self) -> u32;
    /// Word `word` of line `line` of the masks `L * group ..`; `turned` for columns as lines.
    fn masks(turned: bool, line: usize, word: usize, group: usize) -> [Self; L];
}

impl Word<4> for u32 {
    const BITS: usize = 32;
    const ZERO: Self = 0;
    const ONES: Self = !0;
    const PLANES: usize = 8;

    fn from_low(bits: u64) -> Self {
        bits as u32
    }

    fn to_u64(self) -> u64 {
        u64::from(self)
    }

    fn count_ones(self) -> u32 {
        u32::count_ones(self)
    }

    fn masks(turned: bool, line: usize, _word: usize, group: usize) -> [Self; 4] {
        mask::NARROW[usize::from(turned)][line % mask::PERIOD][group]
    }
}

impl Word<2> for u64 {
    const BITS: usize = 64;
    const ZERO: Self = 0;
    const ONES: Self = !0;
    const PLANES: usize = 10;

    fn from_low(bits: u64) -> Self {
        bits
    }

    fn to_u64(self) -> u64 {
        self
    }

    fn count_ones(self) -> u32 {
        u64::count_ones(self)
    }

    fn masks(turned: bool, line: usize, word: usize, group: usize) -> [Self; 2] {
        mask::WIDE[usize::from(turned)][line % mask::PERIOD][word][group]
    }
}
