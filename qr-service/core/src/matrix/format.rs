//! Both copies of the format information, and the dark module (ISO/IEC 18004 section 7.9).

use super::lines::{Lines, Word};
use crate::level::Level;
use crate::version::format_bits;

/// The row and the column with the format information.
const LINE: usize = 8;

/// The modules of row 8 and of column 8 that hold format information, for each mask.
pub(super) struct Formats {
    /// Row 8: bits 0 to 7 are its first eight modules, bits 8 to 15 its last eight.
    across: [u16; 8],
    /// Column 8: bits 0 to 8 are its first nine modules, bits 16 to 23 its last eight, of which bit
    /// 16 is the dark module.
    down: [u32; 8],
    size: usize,
}

impl Formats {
    pub(super) fn new(level: Level, size: usize) -> Self {
        let mut formats = Formats { across: [0; 8], down: [0; 8], size };
        for mask in 0..8 {
            let bits = u32::from(format_bits(level, mask as u8));
            // The most significant bit comes first along the row, which skips the timing column 6 ...
            let turned = bits.reverse_bits() >> 17;
            let left = turned & 0x3f | (turned & 0x40) << 1;
            // ... and has the last eight bits at its right end.
            let right = turned >> 7 & 0xff;
            formats.across[mask] = (left | right << 8) as u16;
            // The least significant bit comes first down the column, which skips row 6. The module at
            // (8, 8) belongs to the column.
            let top = bits & 0x3f | (bits & 0xc0) << 1;
            let bottom = bits >> 8 & 0x7f;
            // The dark module stands above the bottom seven.
            formats.down[mask] = top | 1 << 16 | bottom << 17;
        }
        formats
    }

    /// The column of bit `k` of `across`.
    fn place_across(&self, k: usize) -> usize {
        if k < 8 { k } else { self.size + k - 16 }
    }

    /// The row of bit `k` of `down`.
    fn place_down(&self, k: usize) -> usize {
        if k < 16 { k } else { self.size + k - 24 }
    }

    /// Calls `put(line, at, bits)` for each module, with its bit under each mask. Lines are columns if
    /// `turned`, else rows.
    pub(super) fn for_each(&self, turned: bool, mut put: impl FnMut(usize, usize, [u32; 8])) {
        for k in (0..16).filter(|&k| k != 6) {
            let bits = self.across.map(|across| u32::from(across) >> k & 1);
            let (line, at) = (LINE, self.place_across(k));
            if turned { put(at, line, bits) } else { put(line, at, bits) }
        }
        for k in (0..24).filter(|&k| k != 6 && !(9..16).contains(&k)) {
            let bits = self.down.map(|down| down >> k & 1);
            let (line, at) = (self.place_down(k), LINE);
            if turned { put(at, line, bits) } else { put(line, at, bits) }
        }
    }

    /// Draws the format information of `mask` in `rows`, whose modules must be light there.
    pub(super) fn draw<T: Word, const WORDS: usize, const LINES: usize>(
        &self,
        rows: &mut Lines<T, WORDS, LINES>,
        mask: u8,
    ) {
        self.for_each(false, |line, at, bits| {
            let bit = T::from_low(u64::from(bits[usize::from(mask)])) << (at % T::BITS) as u32;
            rows[line][at / T::BITS] = rows[line][at / T::BITS] | bit;
        });
    }
}
