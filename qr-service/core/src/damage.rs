//! Counts the codewords that an area of a symbol covers, for example a logo, in each block of error
//! correction (ISO/IEC 18004 sections 7.5.2, 7.6 and 7.7.3).

use std::ops::Range;

use crate::matrix::reserved_modules;
use crate::symbol::Symbol;
use crate::version::{blocks, total_codewords};

/// How many codewords of a block a covered area touches, and how many the block can correct.
#[doc = example!(symbol:
    let whole = symbol.damage(0..symbol.size(), 0..symbol.size());
    assert_eq!((whole[0].touched, whole[0].correctable), (26, 4));
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockDamage {
    /// Codewords of the block with at least one module in the area. Readers may get each of them wrong.
    pub touched: usize,
    /// Wrong codewords that the block can correct.
    pub correctable: usize,
}

impl Symbol {
    /// Counts, for each block in order, the codewords that have modules in these columns and rows. A codeword
    /// counts once, whether one of its modules is covered or all eight: either may make it wrong.
    #[doc = example!(
        let symbol = encode("https://example.com/some/path", Level::H)?;
        let middle = symbol.size() / 2;
        let blocks = symbol.damage(middle - 2..middle + 3, middle - 2..middle + 3);
        assert!(blocks.iter().all(|block| block.touched <= block.correctable / 2));
    )]
    pub fn damage(&self, columns: Range<usize>, rows: Range<usize>) -> Vec<BlockDamage> {
        let size = self.size();
        let total = total_codewords(self.version);
        let mut is_touched = vec![false; total];
        for (index, (x, y)) in data_modules(self.version, size).enumerate() {
            // The remainder bits at the end belong to no codeword.
            if let Some(codeword) = is_touched.get_mut(index / 8) {
                *codeword |= columns.contains(&x) && rows.contains(&y);
            }
        }
        let of = blocks(self.version, self.level);
        let correctable = of.ec_len / 2 - only_detecting(self.version, of.ec_len);
        let mut damage = vec![BlockDamage { touched: 0, correctable }; of.count];
        for (index, _) in is_touched.iter().enumerate().filter(|(_, touched)| **touched) {
            damage[block_of(index, of.count, of.short_len, of.long_count)].touched += 1;
        }
        damage
    }
}

/// Codewords of error correction that only detect errors: the smallest symbols repair one fewer
/// (table 9, note b).
fn only_detecting(version: u8, ec_len: usize) -> usize {
    usize::from(matches!((version, ec_len), (1, 7) | (1, 10) | (2, 10)))
}

/// The block of the codeword at `index` in the interleaved sequence.
fn block_of(index: usize, count: usize, short_len: usize, long_count: usize) -> usize {
    let (short, data) = (short_len * count, short_len * count + long_count);
    match index {
        index if index < short => index % count,
        // Only the last blocks have one more data codeword.
        index if index < data => count - long_count + index - short,
        index => (index - data) % count,
    }
}

/// The modules that hold codewords, as column and row, in the order of the bits: up and down through strips
/// of two columns from the right, without the timing pattern.
fn data_modules(version: u8, size: usize) -> impl Iterator<Item = (usize, usize)> {
    let reserved = reserved_modules(version);
    let strips = (1..size).rev().step_by(2).map(|right| if right <= 6 { right - 1 } else { right });
    strips
        .enumerate()
        .flat_map(move |(strip, right)| {
            (0..size).flat_map(move |k| {
                let y = if strip.is_multiple_of(2) { size - 1 - k } else { k };
                [(right, y), (right - 1, y)]
            })
        })
        .filter(move |(x, y)| reserved[*y][x / 64] >> (x % 64) & 1 == 0)
}

#[cfg(test)]
mod tests;
