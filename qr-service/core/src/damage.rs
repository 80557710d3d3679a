//! Counts the codewords that an area of a symbol covers, for example a logo, in each block of error
//! correction (ISO/IEC 18004 sections 7.5.2, 7.6 and 7.7.3).

use std::ops::Range;

use crate::matrix::{empty_rows, is_set, zigzag};
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
        let empty = empty_rows(self.version, self.level, self.mask);
        let modules = zigzag(size - 1, size, true).filter(|(x, y)| is_set(&empty[*y][1], *x));
        for (index, (x, y)) in modules.enumerate() {
            // The remainder bits at the end belong to no codeword.
            if let Some(codeword) = is_touched.get_mut(index / 8) {
                *codeword |= columns.contains(&x) && rows.contains(&y);
            }
        }
        let of = blocks(self.version, self.level);
        let mut damage = vec![BlockDamage { touched: 0, correctable: of.correctable() }; of.count];
        for (index, _) in is_touched.iter().enumerate().filter(|(_, touched)| **touched) {
            damage[of.block_of(index)].touched += 1;
        }
        damage
    }
}

#[cfg(test)]
mod tests;
