//! Placement of codewords in the symbol (ISO/IEC 18004 section 7.7.3).
//!
//! The bits run through strips of two columns, from the right: up the first strip, down the next. In
//! each row the right module comes before the left one, and function patterns are skipped. Where a
//! strip has no function pattern, the even bits of the stream fill its right column and the odd bits
//! its left one. So a word of the stream, split into even and odd bits, fills up to 32 rows at once.

use super::lines::{Lines, Word};

/// Reads the codewords as a stream of bits, the first bit lowest.
struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl BitReader<'_> {
    /// The eight codewords from `index` on, the first bit lowest; zeros after the last codeword.
    fn word(&self, index: usize) -> u64 {
        let word = match self.bytes.get(index..) {
            None => return 0,
            Some(rest) => match rest.first_chunk::<8>() {
                Some(chunk) => u64::from_be_bytes(*chunk),
                None => rest.iter().rev().fold(0, |word, &b| word >> 8 | u64::from(b) << 56),
            },
        };
        word.reverse_bits()
    }

    /// Takes the next `count` bits, 1 to 64, the first bit lowest. Bits of the result above `count`
    /// are not zero.
    fn take(&mut self, count: u32) -> u64 {
        let (byte, bit) = (self.at / 8, self.at % 8);
        self.at += count as usize;
        let low = self.word(byte) >> bit;
        if count + bit as u32 <= 64 {
            return low;
        }
        low | self.word(byte + 8) << (64 - bit)
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

/// Fills the free modules of two columns of up to 64 rows, downwards. Returns both columns.
fn fill_strip(stream: &mut BitReader<'_>, free_right: u64, free_left: u64) -> (u64, u64) {
    let (mut right, mut left) = (0, 0);
    let mut todo = free_right | free_left;
    while todo != 0 {
        let row = todo.trailing_zeros();
        let (r, l) = (free_right >> row, free_left >> row);
        let run = if r & l & 1 == 1 {
            let run = (r & l).trailing_ones().min(32);
            let (bits, rows) = (stream.take(2 * run), !0 >> (64 - run));
            right |= (even_bits(bits) & rows) << row;
            left |= (even_bits(bits >> 1) & rows) << row;
            run
        } else {
            // Only one column is free, beside a function pattern.
            let run = if r & 1 == 1 { r & !l } else { l & !r }.trailing_ones();
            let bits = stream.take(run) & (!0 >> (64 - run));
            if r & 1 == 1 {
                right |= bits << row
            } else {
                left |= bits << row
            }
            run
        };
        todo &= !((!0 >> (64 - run)) << row);
    }
    (right, left)
}

/// Places the codewords in columns of the symbol, unmasked; remainder bits are light.
pub(super) fn place_codewords<T: Word, const WORDS: usize, const LINES: usize>(
    codewords: &[u8],
    size: usize,
    reserved: &Lines<T, WORDS, LINES>,
) -> Lines<T, WORDS, LINES> {
    let mut columns = [[T::ZERO; WORDS]; LINES];
    let mut stream = BitReader { bytes: codewords, at: 0 };
    // Bits of a `u64` that `T` does not have: `reverse_bits` moves them to the low end.
    let to_top = 64 - T::BITS as u32;
    let mut upwards = true;
    let mut right = size - 1;
    while right > 0 {
        if right == 6 {
            // The timing pattern fills this column.
            right = 5;
        }
        for k in 0..WORDS {
            let w = if upwards { WORDS - 1 - k } else { k };
            let free = |x: usize| (!reserved[x][w]).to_u64();
            let (r, l) = (free(right), free(right - 1));
            let (r, l) = if upwards {
                let (r, l) =
                    fill_strip(&mut stream, r.reverse_bits() >> to_top, l.reverse_bits() >> to_top);
                (r.reverse_bits() >> to_top, l.reverse_bits() >> to_top)
            } else {
                fill_strip(&mut stream, r, l)
            };
            columns[right][w] = T::from_low(r);
            columns[right - 1][w] = T::from_low(l);
        }
        upwards = !upwards;
        right = right.saturating_sub(2);
    }
    columns
}
