//! Placement of codewords in the symbol (ISO/IEC 18004 section 7.7.3).
//!
//! The stream of bits runs in a zigzag through strips of two columns, from the right: up the
//! first, down the next, in each row the right module before the left, passing over function
//! patterns. Where a strip has no function pattern, its right column is every other bit of the
//! stream and its left column the rest: so up to 32 rows are placed at a time by taking a word of
//! the stream apart into its even and its odd bits.

use super::{Lines, Word};

/// The stream of codewords, the first bit lowest.
struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl BitReader<'_> {
    /// The eight codewords from number `index`, the first bit lowest; zeros after the last.
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

    /// Takes the next `count` bits, 1 to 64: the first is the lowest of the result, which has
    /// others above those asked for.
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

/// The even bits of `x`, moved together in the low half.
fn even_bits(x: u64) -> u64 {
    let x = x & 0x5555_5555_5555_5555;
    let x = (x | x >> 1) & 0x3333_3333_3333_3333;
    let x = (x | x >> 2) & 0x0f0f_0f0f_0f0f_0f0f;
    let x = (x | x >> 4) & 0x00ff_00ff_00ff_00ff;
    let x = (x | x >> 8) & 0x0000_ffff_0000_ffff;
    (x | x >> 16) & 0x0000_0000_ffff_ffff
}

/// Fills two columns of up to 64 rows, given which modules of each are free, downwards.
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
            // One column only: the other passes by a function pattern.
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

/// The codewords as columns of the symbol, not masked; remainder bits are light.
pub(super) fn place_codewords<T: Word, const W: usize, const N: usize>(
    codewords: &[u8],
    size: usize,
    reserved: &Lines<T, W, N>,
) -> Lines<T, W, N> {
    let mut columns = [[T::ZERO; W]; N];
    let mut stream = BitReader { bytes: codewords, at: 0 };
    // Rows that a word has beyond the symbol: they come first where the word is turned upside down.
    let to_top = 64 - T::BITS as u32;
    let mut upwards = true;
    let mut right = size - 1;
    while right > 0 {
        if right == 6 {
            // The timing pattern fills this column.
            right = 5;
        }
        for k in 0..W {
            let w = if upwards { W - 1 - k } else { k };
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
