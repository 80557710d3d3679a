//! Both copies of the format information, and the dark module (ISO/IEC 18004 section 7.9).

use super::lines::{PackedLines, Word, or_bits};
use crate::level::Level;
use crate::version::format_bits;

/// The row and the column with the format information.
pub(super) const LINE: usize = 8;

/// The format information at the two ends of row 8 or of column 8, under each mask.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    /// The first nine modules.
    pub(super) first: [u16; 8],
    /// The last eight modules.
    pub(super) last: [u16; 8],
}

/// Row 8 and column 8, by level.
static ENDS: [[Ends; 2]; 4] = {
    let mut table = [[Ends { first: [0; 8], last: [0; 8] }; 2]; 4];
    let mut k = 0;
    while k < 4 * 8 {
        let (level, mask) = (k / 8, k % 8);
        let bits = format_bits(Level::ALL[level], mask as u8) as u32;
        let [across, down] = &mut table[level];
        // The most significant bit comes first along the row, which skips the timing column 6 and has the
        // last eight bits at its right end. The module at (8, 8) belongs to the column.
        let turned = bits.reverse_bits() >> 17;
        across.first[mask] = (turned & 0x3f | (turned & 0x40) << 1) as u16;
        across.last[mask] = (turned >> 7 & 0xff) as u16;
        // The least significant bit comes first down the column, which skips row 6. The dark module stands
        // above the bottom seven.
        down.first[mask] = (bits & 0x3f | (bits & 0xc0) << 1) as u16;
        down.last[mask] = (1 | (bits >> 8 & 0x7f) << 1) as u16;
        k += 1;
    }
    table
};

/// The format information of a symbol under each mask.
pub(super) struct Formats {
    across: &'static Ends,
    down: &'static Ends,
    size: usize,
}

impl Formats {
    pub(super) fn new(level: Level, size: usize) -> Self {
        let [across, down] = &ENDS[level as usize];
        Formats { across, down, size }
    }

    /// The format information on line 8, and that in module 8 of the other lines. Lines are columns if
    /// `turned`, else rows.
    pub(super) fn along_and_across(&self, turned: bool) -> (&'static Ends, &'static Ends) {
        if turned { (self.down, self.across) } else { (self.across, self.down) }
    }

    /// Draws the format information of `mask` in `rows`, whose modules must be light there.
    pub(super) fn draw<T: Word, const WORDS: usize, const LINES: usize>(
        &self,
        rows: &mut PackedLines<T, WORDS, LINES>,
        mask: u8,
    ) {
        let of_mask = |bits: &[u16; 8]| u64::from(bits[usize::from(mask)]);
        or_bits(&mut rows[LINE], 0, of_mask(&self.across.first));
        or_bits(&mut rows[LINE], self.size - 8, of_mask(&self.across.last));
        for (bits, start, count) in
            [(of_mask(&self.down.first), 0, 9), (of_mask(&self.down.last), self.size - 8, 8)]
        {
            (0..count).for_each(|k| or_bits(&mut rows[start + k], LINE, bits >> k & 1));
        }
    }
}
