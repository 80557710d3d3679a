//! Function patterns: finders with separators, timing, alignment, version information, and the area
//! reserved for format information (ISO/IEC 18004 sections 6.3, 7.9, 7.10).
//!
//! Most rows have few modules of function patterns, so all rows start out the same, and the patterns are drawn
//! over them one by one.

use super::lines::{PackedLines, Word, clear_bits, or_bits};
use crate::version::{alignment_centre, alignments_per_side, size_of, version_bits};

/// The function patterns of a version, as rows. They are symmetric about the main diagonal, so they
/// serve as columns too. Format information and the dark module are not symmetric; `format` draws
/// them once the mask is known.
pub(super) struct Patterns<T, const WORDS: usize, const LINES: usize> {
    /// Modules that hold codewords: those that a mask may invert.
    pub(super) free: PackedLines<T, WORDS, LINES>,
    /// Dark modules of the patterns; format information is left light. The words beyond the right
    /// edge hold a chequered filler. Its lines always differ from their neighbours, so the penalty
    /// rules never see a run, a block or a finder there and need no bounds.
    pub(super) dark: PackedLines<T, WORDS, LINES>,
}

/// Rows of the finder pattern: 7 modules.
const FINDER: [u64; 7] = [0x7f, 0x41, 0x5d, 0x5d, 0x5d, 0x41, 0x7f];
/// Rows of the alignment pattern: 5 modules.
const ALIGNMENT: [u64; 5] = [0x1f, 0x11, 0x15, 0x11, 0x1f];
/// The row and the column of the timing patterns.
pub(super) const TIMING: usize = 6;

impl<T: Word, const WORDS: usize, const LINES: usize> Patterns<T, WORDS, LINES> {
    pub(super) fn new(version: u8) -> Self {
        let size = size_of(version);
        let mut patterns = Self::of_timing(size);
        patterns.draw_finders(size);
        patterns.draw_alignments(version);
        if version >= 7 {
            patterns.draw_version(size, u64::from(version_bits(version)));
        }
        patterns
    }

    /// The timing patterns, and the filler beyond the edge.
    fn of_timing(size: usize) -> Self {
        let mut free = [[T::ZERO; WORDS]; LINES];
        let mut dark = [[T::ZERO; WORDS]; LINES];
        let within: [T; WORDS] = std::array::from_fn(|w| match size.saturating_sub(w * T::BITS) {
            count if count < T::BITS => !(T::ONES << count as u32),
            _ => T::ONES,
        });
        let filler = [0x5555_5555_5555_5555, 0xaaaa_aaaa_aaaa_aaaa]
            .map(|bits| within.map(|within| T::from_low(bits) & !within));
        let mut beside_timing = within;
        beside_timing[0] = beside_timing[0] & !T::from_low(1 << TIMING);
        for (y, (free, dark)) in free.iter_mut().zip(&mut dark).take(size).enumerate() {
            (*free, *dark) = (beside_timing, filler[y % 2]);
        }
        free[TIMING] = [T::ZERO; WORDS];
        for at in (8..size - 8).step_by(2) {
            or_bits(&mut dark[TIMING], at, 1);
            or_bits(&mut dark[at], TIMING, 1);
        }
        Patterns { free, dark }
    }

    /// Draws the finders, and reserves their separators and the format information beside them.
    fn draw_finders(&mut self, size: usize) {
        let mut right = [T::ZERO; WORDS];
        or_bits(&mut right, size - 8, 0xff);
        for row in &mut self.free[..9] {
            (0..WORDS).for_each(|w| row[w] = row[w] & !right[w]);
            row[0] = row[0] & !T::from_low(0x1ff);
        }
        for row in &mut self.free[size - 8..size] {
            row[0] = row[0] & !T::from_low(0x1ff);
        }
        for (y, bits) in FINDER.into_iter().enumerate() {
            self.dark[y][0] = self.dark[y][0] | T::from_low(bits);
            self.dark[size - 7 + y][0] = self.dark[size - 7 + y][0] | T::from_low(bits);
            or_bits(&mut self.dark[y], size - 7, bits);
        }
    }

    fn draw_alignments(&mut self, version: u8) {
        let count = alignments_per_side(version);
        for row in 0..count {
            // Three corners have finders instead.
            let columns = match row {
                0 => 1..count - 1,
                row if row == count - 1 => 1..count,
                _ => 0..count,
            };
            let top = alignment_centre(version, row) - 2;
            for column in columns {
                let left = alignment_centre(version, column) - 2;
                for (line, bits) in ALIGNMENT.into_iter().enumerate() {
                    clear_bits(&mut self.free[top + line], left, 0x1f);
                    // A pattern on a timing pattern has the same modules there.
                    or_bits(&mut self.dark[top + line], left, bits);
                }
            }
        }
    }

    /// Draws the version information: 6 rows of 3 modules at the top right, and their mirror image at
    /// the bottom left.
    fn draw_version(&mut self, size: usize, bits: u64) {
        for k in 0..6 {
            clear_bits(&mut self.free[k], size - 11, 7);
            or_bits(&mut self.dark[k], size - 11, bits >> (3 * k) & 7);
        }
        for line in 0..3 {
            let mirrored = (0..6).fold(0, |row, k| row | (bits >> (3 * k + line) & 1) << k);
            clear_bits(&mut self.free[size - 11 + line], 0, 0x3f);
            or_bits(&mut self.dark[size - 11 + line], 0, mirrored);
        }
    }
}
