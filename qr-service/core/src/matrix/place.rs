//! Placement of codewords in the symbol (ISO/IEC 18004 section 7.7.3).
//!
//! The bits run through strips of two columns, from the right: up the first strip, down the next. In
//! each row the right module comes before the left one, and function patterns are skipped. Where a
//! strip has no function pattern, the even bits of the stream fill its right column and the odd bits
//! its left one, or the other way round. So the stream is split into even and odd bits, and a word of each fills many
//! rows at once.

use super::function::TIMING;
use super::lines::{PackedLines, Word};

/// Columns and rows of a symbol's modules in the order in which codewords fill them: up and down through strips of two
/// columns, from the one on the right of column `last`. In QR they go around the timing pattern in column 6.
pub(crate) fn zigzag(
    last: usize,
    height: usize,
    is_qr: bool,
) -> impl Iterator<Item = (usize, usize)> {
    let strips = (1..=last).rev().step_by(2).enumerate();
    strips.flat_map(move |(strip, right)| {
        let right = if is_qr && right <= TIMING { right - 1 } else { right };
        (0..height).flat_map(move |k| {
            let y = if strip.is_multiple_of(2) { height - 1 - k } else { k };
            [(right, y), (right - 1, y)]
        })
    })
}

/// Rows that a word of a stream fills at most: it begins at a whole byte.
const MOST_ROWS: u32 = 56;

/// The codewords as a stream of bits, the most significant bit first, and its even and odd bits.
struct Streams<'a, const CODEWORDS: usize> {
    codewords: &'a [u8; CODEWORDS],
    /// The even bits, and from [`Self::ODD`] on the odd ones.
    split: [u8; CODEWORDS],
    /// The same with the bits of each byte reversed.
    reversed: [u8; CODEWORDS],
    at: usize,
}

/// The eight bytes from `index` on.
#[inline(always)]
fn word(bytes: &[u8], index: usize) -> [u8; 8] {
    bytes.get(index..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default()
}

impl<'a, const CODEWORDS: usize> Streams<'a, CODEWORDS> {
    const ODD: usize = CODEWORDS / 2 - 8;

    /// `count` is the number of codewords; zeros follow.
    fn new(codewords: &'a [u8; CODEWORDS], count: usize) -> Self {
        let [mut split, mut reversed] = [[0; CODEWORDS]; 2];
        for (i, word) in
            codewords[..count.next_multiple_of(8)].as_chunks::<8>().0.iter().enumerate()
        {
            let word = u64::from_be_bytes(*word);
            let bits = even_bits(word >> 1) << 32 | even_bits(word);
            let ([even, odd], reversed_bits) = (halves(bits), bits.reverse_bits().swap_bytes());
            split[4 * i..][..4].copy_from_slice(&even);
            split[Self::ODD + 4 * i..][..4].copy_from_slice(&odd);
            let [even, odd] = halves(reversed_bits);
            reversed[4 * i..][..4].copy_from_slice(&even);
            reversed[Self::ODD + 4 * i..][..4].copy_from_slice(&odd);
        }
        Streams { codewords, split, reversed, at: 0 }
    }

    /// Where in `split` the bit `at` of the stream is.
    #[inline(always)]
    fn split_at(at: usize) -> usize {
        at / 2 + at % 2 * 8 * Self::ODD
    }
}

/// The bytes of the upper and of the lower half.
fn halves(bits: u64) -> [[u8; 4]; 2] {
    [((bits >> 32) as u32).to_be_bytes(), (bits as u32).to_be_bytes()]
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
    /// The bits from `at` on of one half of the stream; others may follow after [`MOST_ROWS`].
    fn take<const CODEWORDS: usize>(streams: &Streams<'_, CODEWORDS>, at: usize) -> u64;
    /// Bits whose first one is topmost, in this order.
    fn from_topmost(bits: u64) -> u64;
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
    fn take<const CODEWORDS: usize>(streams: &Streams<'_, CODEWORDS>, at: usize) -> u64 {
        u64::from_be_bytes(word(&streams.split, at / 8)) << (at % 8)
    }
    #[inline(always)]
    fn from_topmost(bits: u64) -> u64 {
        bits
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
    fn take<const CODEWORDS: usize>(streams: &Streams<'_, CODEWORDS>, at: usize) -> u64 {
        u64::from_le_bytes(word(&streams.reversed, at / 8)) >> (at % 8)
    }
    #[inline(always)]
    fn from_topmost(bits: u64) -> u64 {
        bits.reverse_bits()
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
fn fill_strip<O: Order, const CODEWORDS: usize>(
    streams: &mut Streams<'_, CODEWORDS>,
    free_right: u64,
    free_left: u64,
) -> (u64, u64) {
    let (mut right, mut left) = (0, 0);
    let mut todo = free_right | free_left;
    while todo != 0 {
        let row = O::zeros(todo);
        let (r, l) = (O::skip(free_right, row), O::skip(free_left, row));
        let run = if O::ones(r & l) > 0 {
            let run = O::ones(r & l).min(MOST_ROWS);
            let [right_at, left_at] =
                [streams.at, streams.at + 1].map(Streams::<CODEWORDS>::split_at);
            // Bits beyond the run are cleared below.
            right |= O::after(O::take(streams, right_at), row);
            left |= O::after(O::take(streams, left_at), row);
            streams.at += 2 * run as usize;
            run
        } else {
            // Only one column is free, beside a function pattern.
            let is_right = O::ones(r) > 0;
            let run = O::ones(if is_right { r & !l } else { l & !r });
            let run = run.min(MOST_ROWS);
            let bits = u64::from_be_bytes(word(streams.codewords, streams.at / 8));
            let bits = O::after(O::from_topmost(bits << (streams.at % 8)), row);
            streams.at += run as usize;
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
pub(super) fn place_codewords<
    T: Word,
    const WORDS: usize,
    const LINES: usize,
    const CODEWORDS: usize,
>(
    codewords: &[u8; CODEWORDS],
    count: usize,
    size: usize,
    free: &PackedLines<T, WORDS, LINES>,
) -> PackedLines<T, WORDS, LINES> {
    let mut columns = [[T::ZERO; WORDS]; LINES];
    let mut streams = Streams::new(codewords, count);
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
                fill_strip::<Upwards, _>(&mut streams, r, l)
            } else {
                fill_strip::<Downwards, _>(&mut streams, r, l)
            };
            columns[right][w] = T::from_low(r);
            columns[right - 1][w] = T::from_low(l);
        }
        upwards = !upwards;
        right = right.saturating_sub(2);
    }
    columns
}
