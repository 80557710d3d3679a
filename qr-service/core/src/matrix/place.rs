//! Placement of codewords in the symbol (ISO/IEC 18004 section 7.7.3).
//!
//! The bits run through strips of two columns, from the right: up the first strip, down the next. In
//! each row the right module comes before the left one, and function patterns are skipped. Where a
//! strip has no function pattern, the even bits of the stream fill its right column and the odd bits
//! its left one. So a word of the stream, split into even and odd bits, fills up to 32 rows at once.

use super::function::TIMING;
use super::lines::{PackedLines, Word};

/// Reads the codewords as a stream of bits.
struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl BitReader<'_> {
    /// The eight codewords from `index` on, the most significant bit first; zeros after the last codeword.
    #[inline(always)]
    fn word(&self, index: usize) -> u64 {
        match self.bytes.get(index..) {
            None => 0,
            Some(rest) => match rest.first_chunk::<8>() {
                Some(chunk) => u64::from_be_bytes(*chunk),
                None => rest.iter().rev().fold(0, |word, &b| word >> 8 | u64::from(b) << 56),
            },
        }
    }

    /// Takes the next `count` bits, 1 to 64, the most significant bit first. The bits of the result after
    /// them are undefined.
    #[inline(always)]
    fn take(&mut self, count: u32) -> u64 {
        let (byte, bit) = (self.at / 8, self.at % 8);
        self.at += count as usize;
        let high = self.word(byte) << bit;
        if count + bit as u32 <= 64 {
            return high;
        }
        high | self.word(byte + 8) >> (64 - bit)
    }
}

/// The even bits of `x`, packed into the low half.
fn even_bits(x: u64) -> u64 {
    let x = x & 0x5555_5555_5555_5555;
    let x = (x | x >> 1) & 0x3333_3333_3333_3333;
    let x = (x | x >> 2) & 0x0f0f_0f0f_0f0f_0f0f;
    let x = (x | x >> 4) & 0x00ff_00ff_00ff_00ff;
    let x = (x | x >> 8) & 0x0000_ffff_0000_ffff;
    (x | x >> 16) & 0x0000_0000_ffff_ffff
}

/// A column of up to 64 rows in the order in which it is filled: upwards from the topmost bit, or downwards
/// from the lowest. Both orders have functions of their own, because reversing words takes long.
trait Order {
    /// The bits from the stream, the first of them topmost, in this order.
    fn from_stream(bits: u64) -> u64;
    /// Every other bit, beginning with the first; others may follow after the 32nd.
    fn every_other(bits: u64) -> u64;
    /// Drops the first `count` bits.
    fn skip(bits: u64, count: u32) -> u64;
    /// Inserts `count` zeros before the first bit.
    fn after(bits: u64, count: u32) -> u64;
    /// The number of zeros before the first one.
    fn zeros(bits: u64) -> u32;

    /// The number of ones before the first zero.
    #[inline(always)]
    fn ones(bits: u64) -> u32 {
        Self::zeros(!bits)
    }
}

struct Upwards;

impl Order for Upwards {
    #[inline(always)]
    fn from_stream(bits: u64) -> u64 {
        bits
    }
    #[inline(always)]
    fn every_other(bits: u64) -> u64 {
        even_bits(bits >> 1) << 32
    }
    #[inline(always)]
    fn skip(bits: u64, count: u32) -> u64 {
        bits << count
    }
    #[inline(always)]
    fn after(bits: u64, count: u32) -> u64 {
        bits >> count
    }
    #[inline(always)]
    fn zeros(bits: u64) -> u32 {
        bits.leading_zeros()
    }
}

struct Downwards;

impl Order for Downwards {
    #[inline(always)]
    fn from_stream(bits: u64) -> u64 {
        bits.reverse_bits()
    }
    #[inline(always)]
    fn every_other(bits: u64) -> u64 {
        even_bits(bits)
    }
    #[inline(always)]
    fn skip(bits: u64, count: u32) -> u64 {
        bits >> count
    }
    #[inline(always)]
    fn after(bits: u64, count: u32) -> u64 {
        bits << count
    }
    #[inline(always)]
    fn zeros(bits: u64) -> u32 {
        bits.trailing_zeros()
    }
}

/// Fills the free modules of two columns. Returns both columns.
fn fill_strip<O: Order>(stream: &mut BitReader<'_>, free_right: u64, free_left: u64) -> (u64, u64) {
    let (mut right, mut left) = (0, 0);
    let mut todo = free_right | free_left;
    while todo != 0 {
        let row = O::zeros(todo);
        let (r, l) = (O::skip(free_right, row), O::skip(free_left, row));
        let run = if O::ones(r & l) > 0 {
            let run = O::ones(r & l).min(32);
            let bits = O::from_stream(stream.take(2 * run));
            // Bits beyond the run are cleared below.
            right |= O::after(O::every_other(bits), row);
            left |= O::after(O::every_other(O::skip(bits, 1)), row);
            run
        } else {
            // Only one column is free, beside a function pattern.
            let is_right = O::ones(r) > 0;
            let run = O::ones(if is_right { r & !l } else { l & !r });
            let bits = O::after(O::from_stream(stream.take(run)), row);
            if is_right {
                right |= bits
            } else {
                left |= bits
            }
            run
        };
        let end = row + run;
        let rest = if end < 64 { O::after(!0, end) } else { 0 };
        todo &= rest;
        right &= !rest;
        left &= !rest;
    }
    (right, left)
}

/// Places the codewords in columns of the symbol, unmasked; remainder bits are light.
pub(super) fn place_codewords<T: Word, const WORDS: usize, const LINES: usize>(
    codewords: &[u8],
    size: usize,
    free: &PackedLines<T, WORDS, LINES>,
) -> PackedLines<T, WORDS, LINES> {
    let mut columns = [[T::ZERO; WORDS]; LINES];
    let mut stream = BitReader { bytes: codewords, at: 0 };
    let mut upwards = true;
    let mut right = size - 1;
    while right > 0 {
        if right == TIMING {
            // The timing pattern fills this column.
            right -= 1;
        }
        for k in 0..WORDS {
            let w = if upwards { WORDS - 1 - k } else { k };
            let (r, l) = (free[right][w].to_u64(), free[right - 1][w].to_u64());
            let (r, l) = if upwards {
                fill_strip::<Upwards>(&mut stream, r, l)
            } else {
                fill_strip::<Downwards>(&mut stream, r, l)
            };
            columns[right][w] = T::from_low(r);
            columns[right - 1][w] = T::from_low(l);
        }
        upwards = !upwards;
        right = right.saturating_sub(2);
    }
    columns
}
