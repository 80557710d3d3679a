//! Format information, twice, and the dark module (ISO/IEC 18004 section 7.9).

use super::{Lines, Word};
use crate::level::Level;
use crate::version::format_bits;

/// Row and column that the format information runs along.
const LINE: usize = 8;

/// The format information for each mask, as it lies along row 8 and along column 8.
pub(super) struct Formats {
    /// Along row 8: bit `x` for `x < 8` on the left, bit `x` for `8 <= x < 16` the right end.
    pub(super) across: [u16; 8],
    /// Along column 8: bit `y` for `y < 9` at the top, bit `8 + y` for the bottom end, `y` from 1
    /// (0 would be the dark module, which is drawn as bit 16).
    pub(super) down: [u32; 8],
    size: usize,
}

impl Formats {
    pub(super) fn new(level: Level, size: usize) -> Self {
        let mut formats = Formats { across: [0; 8], down: [0; 8], size };
        for mask in 0..8 {
            let bits = u32::from(format_bits(level, mask as u8));
            // Most significant bit first along the row, passing over the timing column 6 ...
            let turned = bits.reverse_bits() >> 17;
            let left = turned & 0x3f | (turned & 0x40) << 1;
            // ... and the last eight again at its right end.
            let right = turned >> 7 & 0xff;
            formats.across[mask] = (left | right << 8) as u16;
            // Least significant bit first down the column, passing over row 6; the module at
            // (8, 8) is the eighth and belongs to the column.
            let top = bits & 0x3f | (bits & 0xc0) << 1;
            let bottom = bits >> 8 & 0x7f;
            // The dark module stands above the bottom seven.
            formats.down[mask] = top | 1 << 16 | bottom << 17;
        }
        formats
    }

    /// Module `x` of row 8, for the places that [`Self::places_across`] names.
    fn bit_across(&self, mask: usize, k: usize) -> u32 {
        u32::from(self.across[mask]) >> k & 1
    }

    /// Where along row 8 bit `k` of `across` lies.
    fn place_across(&self, k: usize) -> usize {
        if k < 8 { k } else { self.size + k - 16 }
    }

    /// Where along column 8 bit `k` of `down` lies.
    fn place_down(&self, k: usize) -> usize {
        if k < 16 { k } else { self.size + k - 24 }
    }

    /// Calls `put(line, at, bits)` for each module that may be dark, `bits` being that of each
    /// mask: as rows, or, `turned`, as columns.
    pub(super) fn for_each(&self, turned: bool, mut put: impl FnMut(usize, usize, [u32; 8])) {
        for k in (0..16).filter(|&k| k != 6) {
            let bits = std::array::from_fn(|mask| self.bit_across(mask, k));
            let (line, at) = (LINE, self.place_across(k));
            if turned { put(at, line, bits) } else { put(line, at, bits) }
        }
        for k in (0..24).filter(|&k| k != 6 && !(9..16).contains(&k)) {
            let bits = self.down.map(|down| down >> k & 1);
            let (line, at) = (self.place_down(k), LINE);
            if turned { put(at, line, bits) } else { put(line, at, bits) }
        }
    }

    /// Draws the format information of `mask` in `rows`, which are light there.
    pub(super) fn draw<T: Word, const W: usize, const N: usize>(
        &self,
        rows: &mut Lines<T, W, N>,
        mask: u8,
    ) {
        self.for_each(false, |line, at, bits| {
            let bit = T::from_low(u64::from(bits[usize::from(mask)])) << (at % T::BITS) as u32;
            rows[line][at / T::BITS] = rows[line][at / T::BITS] | bit;
        });
    }
}
