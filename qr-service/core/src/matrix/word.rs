//! The machine words that lines are made of.

use std::fmt::Debug;
use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

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
